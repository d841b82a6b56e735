"""Programs that influenced no default, rule or price: tried once after all of these were fixed (--programs other).

Each entry as in programs.py. A program that was used for a choice
moves to programs.py.
"""
import torch

from program_registry import program
from programs import data, on_device, sd_vae, training


@program("image VAE", "diffusers VQModel, decode 1024 px, float32")
def vq_decode_f32():
    from diffusers import VQModel
    vae = on_device(lambda: VQModel(block_out_channels=(128, 256, 512), down_block_types=("DownEncoderBlock2D",) * 3,
                                    up_block_types=("UpDecoderBlock2D",) * 3, layers_per_block=2, latent_channels=3))
    z = data(1, 3, 256, 256)
    return vae, lambda: vae.decode(z, force_not_quantize=True).sample


@program("image VAE", "diffusers AutoencoderDC (Sana), decode 1024 px, bfloat16")
def dc_decode_bf16(px=1024):
    from diffusers import AutoencoderDC
    vae = on_device(AutoencoderDC, torch.bfloat16)
    z = data(1, 32, px // 32, px // 32, dtype=torch.bfloat16)
    return vae, lambda: vae.decode(z).sample


@program("image VAE", "diffusers AsymmetricAutoencoderKL, decode 768 px, float16")
def asymmetric_decode_f16():
    from diffusers import AsymmetricAutoencoderKL
    vae = on_device(lambda: AsymmetricAutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 4, down_block_out_channels=(128, 256, 512, 512), layers_per_down_block=2,
        up_block_types=("UpDecoderBlock2D",) * 4, up_block_out_channels=(192, 384, 768, 768), layers_per_up_block=3),
        torch.float16)
    z = data(1, 4, 96, 96, dtype=torch.float16)
    return vae, lambda: vae.decode(z).sample


@program("video VAE", "diffusers AutoencoderKLLTXVideo, decode 25 frames 512x704, bfloat16")
def ltx_decode_bf16(latents=4):
    from diffusers import AutoencoderKLLTXVideo
    vae = on_device(AutoencoderKLLTXVideo, torch.bfloat16)
    z = data(1, 128, latents, 16, 22, dtype=torch.bfloat16)
    return vae, lambda: vae.decode(z).sample


@program("video VAE", "diffusers AutoencoderKLMochi, decode 13 frames 480x848, float16")
def mochi_decode_f16():
    from diffusers import AutoencoderKLMochi
    vae = on_device(AutoencoderKLMochi, torch.float16)
    z = data(1, 12, 3, 60, 106, dtype=torch.float16)
    return vae, lambda: vae.decode(z).sample


@program("video VAE", "diffusers AutoencoderKLTemporalDecoder (SVD), decode 8 frames 576x1024, float16")
def svd_decode_f16(frames=8):
    from diffusers import AutoencoderKLTemporalDecoder
    vae = on_device(lambda: AutoencoderKLTemporalDecoder(
        block_out_channels=(128, 256, 512, 512), down_block_types=("DownEncoderBlock2D",) * 4, layers_per_block=2), torch.float16)
    z = data(frames, 4, 72, 128, dtype=torch.float16)
    return vae, lambda: vae.decode(z, num_frames=frames).sample


@program("U-Net", "diffusers UNet2DConditionModel (SDXL), 1024 px, batch 2, float16")
def sdxl_unet_f16():
    from diffusers import UNet2DConditionModel
    unet = on_device(lambda: UNet2DConditionModel(
        block_out_channels=(320, 640, 1280), down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), transformer_layers_per_block=(1, 2, 10),
        attention_head_dim=(5, 10, 20), cross_attention_dim=2048, use_linear_projection=True), torch.float16)
    x, t = data(2, 4, 128, 128, dtype=torch.float16), data(2, 77, 2048, dtype=torch.float16)
    return unet, lambda: unet(x, 10, encoder_hidden_states=t).sample


@program("U-Net", "diffusers ControlNetModel, 1024 px, batch 2, float16")
def controlnet_f16():
    from diffusers import ControlNetModel
    net = on_device(lambda: ControlNetModel(cross_attention_dim=768), torch.float16)
    sample, text = data(2, 4, 128, 128, dtype=torch.float16), data(2, 77, 768, dtype=torch.float16)
    image = data(2, 3, 1024, 1024, dtype=torch.float16)
    return net, lambda: net(sample, 10, encoder_hidden_states=text, controlnet_cond=image)


@program("segmentation", "torchvision fcn_resnet101, 4 x 768 px, float16")
def fcn_f16():
    from torchvision.models.segmentation import fcn_resnet101
    model = on_device(lambda: fcn_resnet101(weights=None, weights_backbone=None), torch.float16)
    x = data(4, 3, 768, 768, dtype=torch.float16)
    return model, lambda: model(x)["out"]


@program("segmentation", "segmentation-models-pytorch DeepLabV3Plus (resnet101), 4 x 1024 px, float16")
def deeplab_plus_f16():
    import segmentation_models_pytorch as smp
    model = on_device(lambda: smp.DeepLabV3Plus("resnet101", encoder_weights=None), torch.float16)
    x = data(4, 3, 1024, 1024, dtype=torch.float16)
    return model, lambda: model(x)


@program("segmentation", "segmentation-models-pytorch UnetPlusPlus (resnet34), 4 x 1024 px, float32")
def unet_plus_plus_f32():
    import segmentation_models_pytorch as smp
    model = on_device(lambda: smp.UnetPlusPlus("resnet34", encoder_weights=None))
    x = data(4, 3, 1024, 1024)
    return model, lambda: model(x)


@program("segmentation", "segmentation-models-pytorch FPN (resnet50), 8 x 1024 px, float16, channels_last")
def fpn_f16_channels_last():
    import segmentation_models_pytorch as smp
    model = on_device(lambda: smp.FPN("resnet50", encoder_weights=None), torch.float16).to(memory_format=torch.channels_last)
    x = data(8, 3, 1024, 1024, dtype=torch.float16).to(memory_format=torch.channels_last)
    return model, lambda: model(x)


@program("segmentation", "transformers SegformerForSemanticSegmentation (sizes of b2), 4 x 1024 px, float16")
def segformer_f16():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    config = SegformerConfig(depths=[3, 4, 6, 3], hidden_sizes=[64, 128, 320, 512], decoder_hidden_size=768)
    model = on_device(lambda: SegformerForSemanticSegmentation(config), torch.float16)
    x = data(4, 3, 1024, 1024, dtype=torch.float16)
    return model, lambda: model(x).logits


@program("depth", "transformers DPTForDepthEstimation, 8 x 384 px, float16")
def dpt_f16():
    from transformers import DPTConfig, DPTForDepthEstimation
    model = on_device(lambda: DPTForDepthEstimation(DPTConfig()), torch.float16)
    image = data(8, 3, 384, 384, dtype=torch.float16)
    return model, lambda: model(image).predicted_depth


@program("segmentation 3-D", "monai SwinUNETR, 96x96x96, float32")
def swin_unetr_f32():
    from monai.networks.nets import SwinUNETR
    model = SwinUNETR(in_channels=1, out_channels=14, feature_size=48).to("cuda").eval()
    x = data(1, 1, 96, 96, 96)
    return model, lambda: model(x)


@program("segmentation 3-D", "monai UNETR, 96x96x96, float16")
def unetr_f16():
    from monai.networks.nets import UNETR
    model = UNETR(in_channels=1, out_channels=14, img_size=(96, 96, 96)).half().to("cuda").eval()
    x = data(1, 1, 96, 96, 96, dtype=torch.float16)
    return model, lambda: model(x)


@program("segmentation 3-D", "monai AttentionUnet, 128x128x128, float16")
def attention_unet_f16():
    from monai.networks.nets import AttentionUnet
    model = on_device(lambda: AttentionUnet(3, in_channels=1, out_channels=2, channels=(32, 64, 128, 256), strides=(2, 2, 2)), torch.float16)
    x = data(1, 1, 128, 128, 128, dtype=torch.float16)
    return model, lambda: model(x)


@program("segmentation 3-D", "monai DynUNet (nnU-Net), 128x128x128, float32")
def dynunet_f32():
    from monai.networks.nets import DynUNet
    model = on_device(lambda: DynUNet(3, 4, 3, [3] * 6, [1, 2, 2, 2, 2, 2], [2] * 5))
    x = data(1, 4, 128, 128, 128)
    return model, lambda: model(x)


@program("segmentation 3-D", "monai HighResNet, 96x96x96, float32")
def highresnet_f32():
    from monai.networks.nets import HighResNet
    model = on_device(lambda: HighResNet(spatial_dims=3, in_channels=1, out_channels=2))
    x = data(1, 1, 96, 96, 96)
    return model, lambda: model(x)


@program("segmentation 3-D", "monai SegResNetVAE, 128x128x128, float16")
def segresnet_vae_f16():
    from monai.networks.nets import SegResNetVAE
    model = SegResNetVAE(input_image_size=(128, 128, 128), spatial_dims=3, init_filters=16, in_channels=4, out_channels=3)
    model = model.half().to("cuda").eval()
    x = data(1, 4, 128, 128, 128, dtype=torch.float16)
    return model, lambda: model(x)


@program("optical flow", "torchvision raft_large, 2 x 520x960 px, 4 updates, float32")
def raft_f32():
    from torchvision.models.optical_flow import raft_large
    model = raft_large(weights=None).to("cuda").eval()
    a, b = data(2, 3, 520, 960), data(2, 3, 520, 960)
    return model, lambda: model(a, b, num_flow_updates=4)[-1]


@program("audio decoder", "transformers DacModel decoder, 20 s, float32")
def dac_decode_f32():
    from transformers import DacConfig, DacModel
    model = DacModel(DacConfig()).to("cuda").eval()
    z = data(1, 1024, 1000)
    return model, lambda: model.decoder(z)


@program("audio encoder", "transformers Wav2Vec2Model, batch 4 of 60 s, float16")
def wav2vec2_f16():
    from transformers import Wav2Vec2Config, Wav2Vec2Model
    model = Wav2Vec2Model(Wav2Vec2Config()).half().to("cuda").eval()
    x = data(4, 960000, dtype=torch.float16)
    return model, lambda: model(x).last_hidden_state


@program("backbone", "torchvision r3d_18, batch 8 of 16 x 112x112, float32")
def r3d_18_f32():
    from torchvision.models.video import r3d_18
    model = on_device(lambda: r3d_18(weights=None))
    x = data(8, 3, 16, 112, 112)
    return model, lambda: model(x)


@program("backbone", "torchvision efficientnet_b4, batch 64 of 380 px, float16")
def efficientnet_f16():
    from torchvision.models import efficientnet_b4
    model = on_device(efficientnet_b4, torch.float16)
    x = data(64, 3, 380, 380, dtype=torch.float16)
    return model, lambda: model(x)


@program("backbone", "torchvision densenet121, batch 64 of 224 px, float32")
def densenet_f32():
    from torchvision.models import densenet121
    model = on_device(densenet121)
    x = data(64, 3, 224, 224)
    return model, lambda: model(x)


@program("backbone", "torchvision inception_v3, batch 64 of 299 px, float16")
def inception_f16():
    from torchvision.models import inception_v3
    model = on_device(lambda: inception_v3(init_weights=False, aux_logits=False), torch.float16)
    x = data(64, 3, 299, 299, dtype=torch.float16)
    return model, lambda: model(x)


@program("backbone", "timm regnety_160, batch 32 of 288 px, float16")
def regnet_f16():
    import timm
    model = on_device(lambda: timm.create_model("regnety_160"), torch.float16)
    x = data(32, 3, 288, 288, dtype=torch.float16)
    return model, lambda: model(x)


@program("backbone", "timm dm_nfnet_f0, batch 32 of 256 px, bfloat16")
def nfnet_bf16():
    import timm
    model = on_device(lambda: timm.create_model("dm_nfnet_f0"), torch.bfloat16)
    x = data(32, 3, 256, 256, dtype=torch.bfloat16)
    return model, lambda: model(x)


@program("backbone", "timm mobilevitv2_200, batch 64 of 256 px, float32")
def mobilevit_f32():
    import timm
    model = on_device(lambda: timm.create_model("mobilevitv2_200"))
    x = data(64, 3, 256, 256)
    return model, lambda: model(x)


@program("training", "monai DynUNet, 96x96x96, batch 2, automatic mixed precision")
def dynunet_train_amp(batch=2):
    from monai.networks.nets import DynUNet
    return training(on_device(lambda: DynUNet(3, 1, 3, [3] * 5, [1, 2, 2, 2, 2], [2] * 4)), data(batch, 1, 96, 96, 96), True)


@program("training", "monai SwinUNETR, 96x96x96, batch 1, automatic mixed precision")
def swin_unetr_train_amp(batch=1):
    from monai.networks.nets import SwinUNETR
    return training(SwinUNETR(in_channels=1, out_channels=14, feature_size=48).to("cuda"), data(batch, 1, 96, 96, 96), True)


@program("training", "timm convnext_base, batch 64 of 224 px, automatic mixed precision")
def convnext_train_amp(batch=64):
    import timm
    return training(on_device(lambda: timm.create_model("convnext_base")), data(batch, 3, 224, 224), True)


@program("training", "torchvision efficientnet_b0, batch 64 of 224 px, channels_last, automatic mixed precision")
def efficientnet_train_amp():
    from torchvision.models import efficientnet_b0
    model, image = on_device(efficientnet_b0), data(64, 3, 224, 224)
    return training(model.to(memory_format=torch.channels_last), image.to(memory_format=torch.channels_last), True)


@program("training", "diffusers AutoencoderKL (SD 1.5), 4 x 256 px, automatic mixed precision")
def sd_vae_train_amp(batch=4):
    from torch import nn

    class Samples(nn.Module):
        def __init__(self):
            super().__init__()
            self.vae = sd_vae()

        def forward(self, x):
            return self.vae(x).sample

    return training(on_device(Samples), data(batch, 3, 256, 256), True)


@program("training", "segmentation-models-pytorch UnetPlusPlus (resnet34), 4 x 512 px, float32")
def unet_plus_plus_train_f32():
    import segmentation_models_pytorch as smp
    return training(on_device(lambda: smp.UnetPlusPlus("resnet34", encoder_weights=None)), data(4, 3, 512, 512), False)


@program("training", "monai VNet, 64x64x64, batch 2, float32")
def vnet_train_f32():
    from monai.networks.nets import VNet
    return training(on_device(lambda: VNet(spatial_dims=3, in_channels=1, out_channels=2)), data(2, 1, 64, 64, 64), False)


# --- tried once on 2026-11-25 -----------------------------------------------------------------------------------------

@program("image VAE", "diffusers AutoencoderKLQwenImage, decode 1024 px, bfloat16")
def qwen_decode_bf16(px=1024):
    from diffusers import AutoencoderKLQwenImage
    vae = on_device(AutoencoderKLQwenImage, torch.bfloat16)
    z = data(1, 16, 1, px // 8, px // 8, dtype=torch.bfloat16)
    return vae, lambda: vae.decode(z).sample


@program("image VAE", "diffusers VQModel (MoVQ, Kandinsky), decode 768 px, float16")
def movq_decode_f16():
    from diffusers import VQModel
    vae = on_device(lambda: VQModel(block_out_channels=(128, 256, 256, 512), norm_type="spatial", layers_per_block=2, latent_channels=4,
                                    down_block_types=("DownEncoderBlock2D",) * 3 + ("AttnDownEncoderBlock2D",), vq_embed_dim=4,
                                    up_block_types=("AttnUpDecoderBlock2D",) + ("UpDecoderBlock2D",) * 3), torch.float16)
    z = data(1, 4, 96, 96, dtype=torch.float16)
    return vae, lambda: vae.decode(z, force_not_quantize=True).sample


@program("video VAE", "diffusers AutoencoderKLAllegro, decode 24 frames 320x320 by its own tiling, float16")
def allegro_decode_f16():
    from diffusers import AutoencoderKLAllegro
    vae = on_device(AutoencoderKLAllegro, torch.float16)
    vae.enable_tiling()
    z = data(1, 4, 6, 40, 40, dtype=torch.float16)
    return vae, lambda: vae.decode(z).sample


@program("U-Net", "diffusers UNet3DConditionModel, 8 frames 256 px, float16")
def unet3d_f16():
    from diffusers import UNet3DConditionModel
    unet = on_device(UNet3DConditionModel, torch.float16)
    x, text = data(1, 4, 8, 32, 32, dtype=torch.float16), data(1, 77, 1024, dtype=torch.float16)
    return unet, lambda: unet(x, 1, text).sample


@program("upscaler", "32 residual blocks of 256 channels as of EDSR, 4x, 360x640, float32")
def edsr_f32(px=None):
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU(True), nn.Conv2d(256, 256, 3, 1, 1))

        def forward(self, x):
            return x + 0.1 * self.body(x)

    model = on_device(lambda: nn.Sequential(nn.Conv2d(3, 256, 3, 1, 1), *[Block() for _ in range(32)], nn.Conv2d(256, 1024, 3, 1, 1),
                                            nn.PixelShuffle(2), nn.Conv2d(256, 1024, 3, 1, 1), nn.PixelShuffle(2),
                                            nn.Conv2d(256, 3, 3, 1, 1)))
    x = data(1, 3, px or 360, px or 640)
    return model, lambda: model(x)


@program("segmentation", "segmentation-models-pytorch MAnet (efficientnet-b3), 4 x 1024 px, float16")
def manet_f16():
    import segmentation_models_pytorch as smp
    model = on_device(lambda: smp.MAnet("efficientnet-b3", encoder_weights=None), torch.float16)
    x = data(4, 3, 1024, 1024, dtype=torch.float16)
    return model, lambda: model(x)


@program("segmentation", "segmentation-models-pytorch PSPNet (vgg16_bn), 8 x 768 px, float32")
def pspnet_f32():
    import segmentation_models_pytorch as smp
    model = on_device(lambda: smp.PSPNet("vgg16_bn", encoder_weights=None))
    x = data(8, 3, 768, 768)
    return model, lambda: model(x)


@program("classification 3-D", "monai DenseNet121, batch 4 of 128x128x128, float16")
def densenet_3d_f16():
    from monai.networks.nets import DenseNet121
    model = on_device(lambda: DenseNet121(3, 1, 2), torch.float16)
    x = data(4, 1, 128, 128, 128, dtype=torch.float16)
    return model, lambda: model(x)


@program("vocoder", "transformers SpeechT5HifiGan, batch 4 of 2000 frames, float32")
def hifigan_f32():
    from transformers import SpeechT5HifiGan, SpeechT5HifiGanConfig
    model = SpeechT5HifiGan(SpeechT5HifiGanConfig()).to("cuda").eval()
    x = data(4, 2000, 80)
    return model, lambda: model(x)


@program("backbone", "timm resnest50d, batch 64 of 224 px, float32")
def resnest_f32():
    import timm
    model = on_device(lambda: timm.create_model("resnest50d"))
    x = data(64, 3, 224, 224)
    return model, lambda: model(x)


@program("backbone", "torchvision s3d, batch 8 of 32 x 224x224, float16")
def s3d_f16():
    from torchvision.models.video import s3d
    model = on_device(lambda: s3d(weights=None), torch.float16)
    x = data(8, 3, 32, 224, 224, dtype=torch.float16)
    return model, lambda: model(x)


@program("training", "the generator of DCGAN with 1024 channels, 64 images of 128 px, float32")
def dcgan_train_f32():
    from torch import nn
    layers = [nn.ConvTranspose2d(128, 1024, 4, 1, 0, bias=False)]
    for channels in (1024, 512, 256, 128):
        layers += [nn.BatchNorm2d(channels), nn.ReLU(True), nn.ConvTranspose2d(channels, channels // 2, 4, 2, 1, bias=False)]
    layers.append(nn.ConvTranspose2d(64, 3, 4, 2, 1))
    return training(on_device(lambda: nn.Sequential(*layers)), data(64, 128, 1, 1), False)


@program("training", "segmentation-models-pytorch Linknet (resnext50_32x4d), 8 x 512 px, automatic mixed precision")
def linknet_train_amp():
    import segmentation_models_pytorch as smp
    return training(on_device(lambda: smp.Linknet("resnext50_32x4d", encoder_weights=None)), data(8, 3, 512, 512), True)


@program("training", "monai UNet with residual units, 128x128x128, batch 2, float32")
def unet_residual_train_f32():
    from monai.networks.nets import UNet
    return training(on_device(lambda: UNet(3, 1, 3, (32, 64, 128, 256, 512), (2, 2, 2, 2), num_res_units=2)), data(2, 1, 128, 128, 128),
                    False)


@program("training", "timm hrnet_w32, batch 32 of 256 px, automatic mixed precision")
def hrnet_train_amp():
    import timm
    return training(on_device(lambda: timm.create_model("hrnet_w32")), data(32, 3, 256, 256), True)


# --- tried once on 2026-11-26: upscalers, video VAEs of 2026, medical networks, detectors ------------------------------

@program("upscaler", "spandrel SRVGGNetCompact (Real-ESRGAN's video model), 4x, 720x1280, float16")
def compact_f16():
    from spandrel.architectures.Compact import Compact
    model = on_device(lambda: Compact(num_in_ch=3, num_out_ch=3, num_feat=64, num_conv=32, upscale=4), torch.float16)
    x = data(1, 3, 720, 1280, dtype=torch.float16)
    return model, lambda: model(x)


@program("upscaler", "spandrel SPAN, 4x, 540x960, float32")
def span_f32():
    from spandrel.architectures.SPAN import SPAN
    model = on_device(lambda: SPAN(num_in_ch=3, num_out_ch=3))
    x = data(1, 3, 540, 960)
    return model, lambda: model(x)


@program("video VAE", "diffusers AutoencoderKLLTX2Video, decode 25 frames 512x768, bfloat16")
def ltx2_decode_bf16():
    from diffusers import AutoencoderKLLTX2Video
    vae = on_device(AutoencoderKLLTX2Video, torch.bfloat16)
    z = data(1, 128, 4, 16, 24, dtype=torch.bfloat16)
    return vae, lambda: vae.decode(z).sample


@program("video VAE", "diffusers AutoencoderKLHunyuanVideo15, decode 9 frames 480x832, float16")
def hunyuan15_decode_f16():
    from diffusers import AutoencoderKLHunyuanVideo15
    vae = on_device(AutoencoderKLHunyuanVideo15, torch.float16)
    z = data(1, 32, 3, 30, 52, dtype=torch.float16)
    return vae, lambda: vae.decode(z).sample


@program("image VAE", "diffusers AutoencoderKLFlux2, encode 1024 px, float32")
def flux2_encode_f32():
    from diffusers import AutoencoderKLFlux2
    vae = on_device(AutoencoderKLFlux2)
    x = data(1, 3, 1024, 1024)
    return vae, lambda: vae.encode(x).latent_dist.mode()


@program("image VAE", "diffusers AutoencoderKLKVAE, encode 1024 px, float32")
def kvae_encode_f32():
    from diffusers import AutoencoderKLKVAE
    vae = on_device(AutoencoderKLKVAE)
    x = data(1, 3, 1024, 1024)
    return vae, lambda: vae.encode(x).latent_dist.mode()


@program("image VAE", "diffusers AutoencoderDC (Sana), encode 1024 px, float32")
def dc_encode_f32():
    from diffusers import AutoencoderDC
    vae = on_device(AutoencoderDC)
    x = data(1, 3, 1024, 1024)
    return vae, lambda: vae.encode(x).latent


@program("segmentation 3-D", "monai MedNeXt (blocks of size B), 128x128x128, float16")
def mednext_f16():
    from monai.networks.nets import MedNeXt
    model = on_device(lambda: MedNeXt(kernel_size=3, encoder_expansion_ratio=(2, 3, 4, 4), decoder_expansion_ratio=(4, 4, 3, 2),
                                      bottleneck_expansion_ratio=4, use_residual_connection=True), torch.float16)
    x = data(1, 1, 128, 128, 128, dtype=torch.float16)
    return model, lambda: model(x)


@program("segmentation 3-D", "monai VISTA3D, image encoder, 128x128x128, float16")
def vista3d_f16():
    from monai.networks.nets import vista3d132
    model = on_device(lambda: vista3d132(in_channels=1).image_encoder, torch.float16)
    x = data(1, 1, 128, 128, 128, dtype=torch.float16)
    return model, lambda: model(x)


@program("detection", "ultralytics yolo11x, 8 x 1280 px, float16")
def yolo11x_f16():
    from ultralytics.nn.tasks import DetectionModel
    model = DetectionModel("yolo11x.yaml", verbose=False).half().to("cuda").eval()
    x = data(8, 3, 1280, 1280, dtype=torch.float16)
    return model, lambda: model(x)


@program("detection", "transformers RTDetrV2ForObjectDetection, 16 x 640 px, float32")
def rtdetr_f32():
    from transformers import RTDetrV2Config, RTDetrV2ForObjectDetection
    model = RTDetrV2ForObjectDetection(RTDetrV2Config()).to("cuda").eval()
    x = data(16, 3, 640, 640)
    return model, lambda: model(x).pred_boxes
