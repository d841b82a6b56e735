"""Programs that scripts/frameworks runs: models of public packages with random weights.

Each entry returns (model, call): a model, and a function that calls it once. Nothing is downloaded and nothing of the packages is changed.
`python programs.py NAME` makes one call of it.
"""
import sys

import torch

from program_registry import PROGRAMS, program


def on_device(make, dtype=torch.float32):
    """A model whose weights have the contents of fresh memory, moved to the device tensor by tensor as by .to()."""
    try:
        with torch.device("meta"):
            model = make()
        model = model.to(dtype).to_empty(device="cuda")
    except (RuntimeError, NotImplementedError):  # its constructor wants values
        model = make().to(dtype).to("cuda")
    return model.eval()


def data(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device="cuda")


# --- image and video VAEs ---------------------------------------------------------------------------------------------

def sd_vae(latent_channels=4, sample_size=512):
    from diffusers import AutoencoderKL
    return AutoencoderKL(in_channels=3, out_channels=3, sample_size=sample_size, block_out_channels=(128, 256, 512, 512),
                         down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
                         layers_per_block=2, latent_channels=latent_channels)


def sd_decode(px, dtype, batch=1, latent_channels=4, sample_size=512):
    vae = on_device(lambda: sd_vae(latent_channels, sample_size), dtype)
    latent = data(batch, latent_channels, px // 8, px // 8, dtype=dtype)
    return vae, lambda: vae.decode(latent).sample


def sd_encode(px, dtype):
    vae = on_device(sd_vae, dtype)
    image = data(1, 3, px, px, dtype=dtype)
    return vae, lambda: vae.encode(image).latent_dist.mode()


@program("image VAE", "diffusers AutoencoderKL (SD 1.5), decode 1024 px, float16")
def sd_decode_f16(px=1024):
    return sd_decode(px, torch.float16)


@program("image VAE", "diffusers AutoencoderKL (SD 1.5), decode 1024 px, float32")
def sd_decode_f32():
    return sd_decode(1024, torch.float32)


@program("image VAE", "diffusers AutoencoderKL (SD 1.5), encode 1024 px, float16")
def sd_encode_f16(px=1024):
    return sd_encode(px, torch.float16)


@program("image VAE", "diffusers AutoencoderKL (SD 1.5), encode 1024 px, float32")
def sd_encode_f32():
    return sd_encode(1024, torch.float32)


@program("image VAE", "diffusers AutoencoderKL, 16 latent channels (as Flux), decode 2048 px, bfloat16")
def flux_decode_bf16(px=2048):
    return sd_decode(px, torch.bfloat16, latent_channels=16, sample_size=1024)


@program("image VAE", "diffusers AutoencoderKL (SD 1.5), decode 1024 px, float16, channels_last")
def sd_decode_f16_channels_last():
    vae, _ = sd_decode(1024, torch.float16)
    vae = vae.to(memory_format=torch.channels_last)
    latent = data(1, 4, 128, 128, dtype=torch.float16)
    return vae, lambda: vae.decode(latent).sample


@program("image VAE", "diffusers AutoencoderTiny, decode 1024 px, float16")
def tiny_decode_f16():
    from diffusers import AutoencoderTiny
    vae = on_device(AutoencoderTiny, torch.float16)
    latent = data(1, 4, 128, 128, dtype=torch.float16)
    return vae, lambda: vae.decode(latent).sample


@program("video VAE", "diffusers AutoencoderKLWan, decode 17 frames 480x832, float16")
def wan_decode_f16(height=480, width=832):
    from diffusers import AutoencoderKLWan
    vae = on_device(AutoencoderKLWan, torch.float16)
    latent = data(1, 16, 5, height // 8, width // 8, dtype=torch.float16)
    return vae, lambda: vae.decode(latent).sample


@program("video VAE", "diffusers AutoencoderKLWan, encode 17 frames 480x832, float16")
def wan_encode_f16():
    from diffusers import AutoencoderKLWan
    vae = on_device(AutoencoderKLWan, torch.float16)
    video = data(1, 3, 17, 480, 832, dtype=torch.float16)
    return vae, lambda: vae.encode(video).latent_dist.mode()


@program("video VAE", "diffusers AutoencoderKLCogVideoX, decode 9 frames 480x720, float16")
def cogvideo_decode_f16(latents=3):
    from diffusers import AutoencoderKLCogVideoX
    vae = on_device(AutoencoderKLCogVideoX, torch.float16)
    latent = data(1, 16, latents, 60, 90, dtype=torch.float16)
    return vae, lambda: vae.decode(latent).sample


@program("video VAE", "diffusers AutoencoderKLHunyuanVideo, decode 17 frames 256x256, float16")
def hunyuan_decode_f16(px=256):
    from diffusers import AutoencoderKLHunyuanVideo
    vae = on_device(AutoencoderKLHunyuanVideo, torch.float16)
    latent = data(1, 16, 5, px // 8, px // 8, dtype=torch.float16)
    return vae, lambda: vae.decode(latent).sample


# --- diffusion networks and upscalers ---------------------------------------------------------------------------------

@program("U-Net", "diffusers UNet2DConditionModel (SD 1.5), 768 px, batch 2, float16")
def sd_unet_f16():
    from diffusers import UNet2DConditionModel
    unet = on_device(lambda: UNet2DConditionModel(cross_attention_dim=768, sample_size=64), torch.float16)
    sample, text = data(2, 4, 96, 96, dtype=torch.float16), data(2, 77, 768, dtype=torch.float16)
    return unet, lambda: unet(sample, 10, encoder_hidden_states=text).sample


@program("upscaler", "diffusers UNet2DConditionModel and AutoencoderKL of the SD x4 upscaler, VAE decode 512 -> 2048 px, float16")
def x4_upscaler_decode_f16(px=512):
    from diffusers import AutoencoderKL
    vae = on_device(lambda: AutoencoderKL(block_out_channels=(128, 256, 512), down_block_types=("DownEncoderBlock2D",) * 3,
                                          up_block_types=("UpDecoderBlock2D",) * 3, layers_per_block=2), torch.float16)
    latent = data(1, 4, px, px, dtype=torch.float16)
    return vae, lambda: vae.decode(latent).sample


@program("upscaler", "transformers Swin2SR x2, 256 -> 512 px, float32")
def swin2sr_f32(px=256):
    from transformers import Swin2SRConfig, Swin2SRForImageSuperResolution
    model = on_device(lambda: Swin2SRForImageSuperResolution(Swin2SRConfig(upscale=2)))
    image = data(1, 3, px, px)
    return model, lambda: model(image).reconstruction


def rrdbnet(features, growth, blocks, height, width):
    """The network of ESRGAN, which makes an image four times as high and wide."""
    from torch import nn
    from torch.nn import functional as F

    def conv(inputs, outputs):
        return nn.Conv2d(inputs, outputs, 3, padding=1)

    class Dense(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = nn.ModuleList(conv(features + i * growth, growth if i < 4 else features) for i in range(5))

        def forward(self, x):
            kept = [x]
            for conv in self.convs[:4]:
                kept.append(F.leaky_relu(conv(torch.cat(kept, 1)), 0.2, inplace=True))
            return x + 0.2 * self.convs[4](torch.cat(kept, 1))

    class Upscaler(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(*(nn.Sequential(Dense(), Dense(), Dense()) for _ in range(blocks)))
            self.first, self.last = conv(3, features), conv(features, 3)
            self.after, self.twice, self.again, self.high = (conv(features, features) for _ in range(4))

        def forward(self, x):
            x = self.first(x)
            x = x + self.after(self.body(x))
            for conv in (self.twice, self.again):
                x = F.leaky_relu(conv(F.interpolate(x, scale_factor=2)), 0.2, inplace=True)
            return self.last(F.leaky_relu(self.high(x), 0.2, inplace=True))

    model = on_device(Upscaler, torch.float16)
    image = data(1, 3, height, width, dtype=torch.float16)
    return model, lambda: model(image)


@program("upscaler", "RRDBNet as of Real-ESRGAN, 4x, 512 -> 2048 px, float16")
def rrdbnet_f16(px=512):
    return rrdbnet(64, 32, 23, px, px)


@program("upscaler", "RRDBNet with 32 features and 12 blocks (ESRGAN lite), 4x, 640x480 -> 2560x1920 px, float16")
def rrdbnet_lite_f16():
    return rrdbnet(32, 16, 12, 480, 640)


# --- segmentation and detection ---------------------------------------------------------------------------------------

@program("segmentation", "segmentation-models-pytorch Unet (resnet34), 4 x 1024 px, float16")
def smp_unet_f16():
    import segmentation_models_pytorch as smp
    model = on_device(lambda: smp.Unet("resnet34", encoder_weights=None, classes=4), torch.float16)
    image = data(4, 3, 1024, 1024, dtype=torch.float16)
    return model, lambda: model(image)


@program("segmentation", "plain U-Net of 64 to 1024 channels with BatchNorm, 1024 px, float32")
def plain_unet_f32():
    from torch import nn
    from torch.nn import functional as F
    widths = (64, 128, 256, 512, 1024)

    def block(inputs, outputs):
        pair = ((inputs, outputs), (outputs, outputs))
        return nn.Sequential(*(layer for a, b in pair for layer in (nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True))))

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList(block(a, b) for a, b in zip((3,) + widths, widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, 2) for width in widths[-2::-1])
            self.merge = nn.ModuleList(block(2 * width, width) for width in widths[-2::-1])
            self.out = nn.Conv2d(64, 2, 1)

        def forward(self, x):
            skips = []
            for down in self.down[:-1]:
                skips.append(down(x))
                x = F.max_pool2d(skips[-1], 2)
            x = self.down[-1](x)
            for up, merge, skip in zip(self.up, self.merge, reversed(skips)):
                x = merge(torch.cat([skip, up(x)], 1))
            return self.out(x)

    model = on_device(UNet)
    image = data(1, 3, 1024, 1024)
    return model, lambda: model(image)


@program("segmentation", "torchvision deeplabv3_resnet50, 4 x 1024 px, float32")
def deeplab_f32(batch=4):
    from torchvision.models.segmentation import deeplabv3_resnet50
    model = on_device(lambda: deeplabv3_resnet50(weights=None, weights_backbone=None))
    image = data(batch, 3, 1024, 1024)
    return model, lambda: model(image)["out"]


@program("segmentation 3-D", "monai SegResNet, 160x160x160, float16")
def segresnet_f16(edge=160):
    from monai.networks.nets import SegResNet
    model = on_device(lambda: SegResNet(spatial_dims=3, init_filters=32, in_channels=4, out_channels=3), torch.float16)
    volume = data(1, 4, edge, edge, edge, dtype=torch.float16)
    return model, lambda: model(volume)


@program("segmentation 3-D", "monai BasicUNet, 128x128x128, float32")
def basicunet_f32():
    from monai.networks.nets import BasicUNet
    model = on_device(lambda: BasicUNet(spatial_dims=3, in_channels=1, out_channels=2))
    volume = data(1, 1, 128, 128, 128)
    return model, lambda: model(volume)


@program("segmentation 3-D", "monai VNet, 128x128x128, float32")
def vnet_f32():
    from monai.networks.nets import VNet
    model = on_device(lambda: VNet(spatial_dims=3, in_channels=1, out_channels=2))
    volume = data(1, 1, 128, 128, 128)
    return model, lambda: model(volume)


@program("detection", "torchvision retinanet_resnet50_fpn, 2 x 800x1216 px, float32")
def retinanet_f32(batch=2):
    from torchvision.models.detection import retinanet_resnet50_fpn
    model = on_device(lambda: retinanet_resnet50_fpn(weights=None, weights_backbone=None))
    image = data(batch, 3, 800, 1216)
    return model, lambda: model.head(list(model.backbone(image).values()))


# --- audio ------------------------------------------------------------------------------------------------------------

@program("audio decoder", "transformers EncodecModel decoder, 30 s at 24 kHz, float32")
def encodec_decode_f32():
    from transformers import EncodecConfig, EncodecModel
    model = EncodecModel(EncodecConfig()).to("cuda").eval()  # it keeps paddings in buffers, whose values it reads
    latent = data(1, 128, 2250)
    return model, lambda: model.decoder(latent)


@program("audio decoder", "diffusers AutoencoderOobleck (Stable Audio), decode 24 s, float16")
def oobleck_decode_f16(latents=512):
    from diffusers import AutoencoderOobleck
    vae = on_device(AutoencoderOobleck, torch.float16)
    latent = data(1, 64, latents, dtype=torch.float16)
    return vae, lambda: vae.decode(latent).sample


# --- backbones and training -------------------------------------------------------------------------------------------

@program("backbone", "torchvision resnet50, batch 256 of 224 px, float16")
def resnet50_f16():
    from torchvision.models import resnet50
    model = on_device(resnet50, torch.float16)
    image = data(256, 3, 224, 224, dtype=torch.float16)
    return model, lambda: model(image)


@program("backbone", "torchvision vgg16, batch 64 of 224 px, float32")
def vgg16_f32():
    from torchvision.models import vgg16
    model = on_device(vgg16)
    image = data(64, 3, 224, 224)
    return model, lambda: model(image)


@program("backbone", "timm convnext_base, batch 64 of 224 px, float16")
def convnext_f16():
    import timm
    model = on_device(lambda: timm.create_model("convnext_base"), torch.float16)
    image = data(64, 3, 224, 224, dtype=torch.float16)
    return model, lambda: model(image)


def training(model, batch, amp):
    """A step of SGD; with amp under autocast to float16 and with a gradient scaler."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)

    def step():
        with torch.enable_grad():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", enabled=amp):
                loss = model(batch).float().square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    return model, step


@program("training", "torchvision resnet50, batch 64 of 224 px, float32")
def resnet50_train_f32():
    from torchvision.models import resnet50
    return training(on_device(resnet50), data(64, 3, 224, 224), False)


@program("training", "torchvision resnet50, batch 64 of 224 px, automatic mixed precision")
def resnet50_train_amp(batch=64):
    from torchvision.models import resnet50
    return training(on_device(resnet50), data(batch, 3, 224, 224), True)


@program("training", "segmentation-models-pytorch Unet (resnet34), 8 x 512 px, automatic mixed precision")
def smp_unet_train_amp(batch=8):
    import segmentation_models_pytorch as smp
    return training(on_device(lambda: smp.Unet("resnet34", encoder_weights=None)), data(batch, 3, 512, 512), True)


@program("training", "monai BasicUNet, 96x96x96, batch 2, automatic mixed precision")
def basicunet_train_amp(batch=2):
    from monai.networks.nets import BasicUNet
    return training(on_device(lambda: BasicUNet(spatial_dims=3, in_channels=1, out_channels=2)), data(batch, 1, 96, 96, 96), True)


@program("training", "torchvision resnet50, 64 of 224 px from a DataLoader with two workers and pinned memory, float32")
def resnet50_loader_train_f32():
    from torchvision.models import resnet50
    model, image = on_device(resnet50), data(64, 3, 224, 224)
    _, step = training(model, image, False)
    images = torch.utils.data.TensorDataset(torch.zeros(3 * 64, 3, 224, 224))
    loader = torch.utils.data.DataLoader(images, batch_size=64, num_workers=2, pin_memory=True)

    def epoch():
        for (batch,) in loader:
            image.copy_(batch.to("cuda", non_blocking=True))
            step()
    return model, epoch


if __name__ == "__main__":
    with torch.no_grad():
        KEEP, CALL = PROGRAMS[sys.argv[1]].make()
        CALL()
