"""The programs of docs/gallery.md: models of public packages with random weights, called once.

    gallery.py MODEL:SIZE[:SWITCH]...

SIZE is in the unit of the model. SWITCH is the model's own way to save memory. A line of output is the call and the peak of the memory
that PyTorch reserved for it. `import gallery` loads no framework.
"""
import sys


class Model:
    """`program` of programs.py or other_programs.py, with the arguments `words(size)`. Sizes are multiples of `step` from `least` to `most`.
    The memory grows with size ** `power`. `start`: sizes near the largest that fits on 8 GB."""

    def __init__(self, group, text, unit, program, sizes, start, power=1, switch=None, words=lambda size: (size,)):
        self.group, self.text, self.unit, self.program, self.power, self.switch = group, text, unit, program, power, switch
        self.least, self.most, self.step = sizes
        self.start, self.words = start, words


IMAGE, VIDEO, UPSCALER, TRAINING = "image VAE", "video VAE", "upscaler", "training"
FLAT, SOLID = "2-D segmenter", "3-D segmenter"
TILING, LAST, CHECKPOINTS = "tiling", "channels_last", "checkpointing"
MODELS = {
    "sd-decode": Model(IMAGE, "Stable Diffusion 1.5 and XL, decode, float16", "px", "sd_decode_f16", (512, 4096, 256), (1536, 1792, 2048, 2304), 2, TILING),
    "sd-encode": Model(IMAGE, "Stable Diffusion 1.5 and XL, encode, float16", "px", "sd_encode_f16", (512, 4096, 256), (2048, 2304, 2560), 2, TILING),
    "flux-decode": Model(IMAGE, "Flux, decode, bfloat16", "px", "flux_decode_bf16", (512, 4096, 256), (1536, 1792, 2048, 2304), 2, TILING),
    "qwen-decode": Model(IMAGE, "Qwen-Image, decode, bfloat16", "px", "qwen_decode_bf16", (512, 4096, 256), (1024, 1280), 2, TILING),
    "sana-decode": Model(IMAGE, "Sana (AutoencoderDC), decode, bfloat16", "px", "dc_decode_bf16", (512, 4096, 256), (1792, 2048), 2, TILING),
    "wan-decode": Model(VIDEO, "Wan 2.1, decode 17 square frames, float16", "px", "wan_decode_f16", (192, 1536, 64), (704, 768, 832), 2, TILING,
                        lambda px: (px, px)),
    "cogvideox-decode": Model(VIDEO, "CogVideoX, decode frames of 480x720, float16", "latent frames", "cogvideo_decode_f16",
                              (4, 12, 4), (4, 8), 1, TILING),
    "hunyuan-decode": Model(VIDEO, "HunyuanVideo, decode 17 square frames, float16", "px", "hunyuan_decode_f16", (128, 768, 32), (320, 352, 384, 416), 2,
                            TILING),
    "ltx-decode": Model(VIDEO, "LTX-Video, decode frames of 512x704, bfloat16", "latent frames", "ltx_decode_bf16", (4, 64, 4), (24, 32), 1,
                        TILING),
    "svd-decode": Model(VIDEO, "Stable Video Diffusion, decode frames of 576x1024, float16", "frames", "svd_decode_f16", (1, 24, 1), (5, 6)),
    "x4-decode": Model(UPSCALER, "Stable Diffusion x4 upscaler, VAE, float16", "px before", "x4_upscaler_decode_f16", (128, 1024, 64), (384, 448, 512, 576),
                       2, TILING),
    "realesrgan": Model(UPSCALER, "Real-ESRGAN x4 (RRDBNet), float16", "px before", "rrdbnet_f16", (128, 2560, 128), (768, 896, 1152, 1280), 2, LAST),
    "swin2sr": Model(UPSCALER, "Swin2SR x2, float32", "px before", "swin2sr_f32", (128, 1536, 64), (704, 768), 2),
    "edsr": Model(UPSCALER, "EDSR x4, float32", "px before", "edsr_f32", (128, 1024, 64), (384, 448), 2, LAST),
    "deeplab": Model(FLAT, "DeepLabV3 ResNet-50, 1024 px, float32", "images", "deeplab_f32", (4, 64, 4), (12, 16), 1, LAST),
    "unet-training": Model(FLAT, "U-Net with ResNet-34, training, 512 px, mixed precision", "images", "smp_unet_train_amp", (8, 160, 8), (32, 40),
                           1, LAST),
    "segresnet": Model(SOLID, "SegResNet, cube, float16", "voxels an edge", "segresnet_f16", (64, 448, 32), (224, 256, 288), 3),
    "basicunet-training": Model(SOLID, "BasicUNet, training, 96x96x96, mixed precision", "patches", "basicunet_train_amp", (2, 32, 2), (6, 8),
                                1, LAST),
    "nnunet-training": Model(SOLID, "DynUNet (nnU-Net), training, 96x96x96, mixed precision", "patches", "dynunet_train_amp",
                             (2, 32, 2), (6, 8), 1, LAST),
    "swinunetr-training": Model(SOLID, "SwinUNETR, training, 96x96x96, mixed precision", "patches", "swin_unetr_train_amp", (1, 12, 1), (1, 2),
                                1, CHECKPOINTS),
    "retinanet": Model("detector", "RetinaNet ResNet-50, 800x1216, float32", "images", "retinanet_f32", (8, 128, 8), (24, 32), 1, LAST),
    "oobleck-decode": Model("audio", "Stable Audio (AutoencoderOobleck), decode, float16", "latents of 46 ms", "oobleck_decode_f16",
                            (256, 10240, 256), (1792, 2048, 2304, 2560)),
    "resnet50-training": Model(TRAINING, "ResNet-50, 224 px, mixed precision", "images", "resnet50_train_amp", (32, 640, 32), (160, 192), 1, LAST),
    "convnext-training": Model(TRAINING, "ConvNeXt-B, 224 px, mixed precision", "images", "convnext_train_amp", (16, 288, 16), (48, 64), 1,
                               CHECKPOINTS),
}


def apply(model, switch):
    import torch
    if switch == TILING:
        model.enable_tiling()
    elif switch == LAST:
        solid = any(isinstance(module, torch.nn.Conv3d) for module in model.modules())
        model.to(memory_format=torch.channels_last_3d if solid else torch.channels_last)
    elif switch == CHECKPOINTS and hasattr(model, "set_grad_checkpointing"):
        model.set_grad_checkpointing()
    elif switch == CHECKPOINTS:
        for module in model.modules():
            if hasattr(module, "use_checkpoint"):
                module.use_checkpoint = True
    elif switch:
        sys.exit(f"gallery.py: no switch {switch}")


def call(name, size, switch=None):
    """Makes a model and calls it once. Returns the peak of the reserved memory."""
    import gc

    import torch
    from program_registry import PROGRAMS
    torch.cuda.reset_peak_memory_stats()
    model = MODELS[name]
    with torch.no_grad():
        network, once = PROGRAMS[model.program].make(*model.words(int(size)))
        apply(network, switch)
        once()
    torch.cuda.synchronize()
    del network, once
    gc.collect()
    torch.cuda.empty_cache()
    return torch.cuda.max_memory_reserved()


def main(calls):
    import other_programs  # noqa: F401 (fills PROGRAMS)
    import programs  # noqa: F401
    for text in calls:
        try:
            peak = call(*text.split(":"))
        except Exception as error:  # whatever a framework throws is the row's result
            if len(calls) == 1:
                raise
            peak = f"failed: {type(error).__name__}: {error}"
        print(text, peak, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
