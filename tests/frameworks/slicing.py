"""Decoders with the slicing of their packages, for docs/comparison.md. Random weights, float16.

    slicing.py sd N      SD 1.5's VAE of diffusers, 2048 px: N = 1 whole, 2 in tiles of 512 px (enable_tiling)
    slicing.py batch N   the same VAE, four images of 512 px: N = 1 at once, 2 one by one (enable_slicing)
    slicing.py maisi N   the 3-D medical VAE of MONAI (MAISI), 256x256x128 voxels, with num_splits=N
"""
import sys

import torch


def sd(split, batch, px):
    from diffusers import AutoencoderKL
    vae = AutoencoderKL(block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4, sample_size=512,
                        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4)
    vae.use_slicing, vae.use_tiling = split and batch > 1, split and batch == 1
    return vae.half().to("cuda").eval(), (batch, 4, px // 8, px // 8)


def maisi(splits):
    from monai.apps.generation.maisi.networks.autoencoderkl_maisi import AutoencoderKlMaisi
    vae = AutoencoderKlMaisi(spatial_dims=3, in_channels=1, out_channels=1, latent_channels=4, num_channels=(64, 128, 256),
                             num_res_blocks=(2, 2, 2), attention_levels=(False,) * 3, norm_float16=True, num_splits=splits, dim_split=1,
                             save_mem=False)
    return vae.half().to("cuda").eval(), (1, 4, 64, 64, 32)


name, number = sys.argv[1], int(sys.argv[2])
model, shape = maisi(number) if name == "maisi" else sd(number > 1, 4, 512) if name == "batch" else sd(number > 1, 1, 2048)
with torch.inference_mode():
    model.decode(torch.zeros(shape, dtype=torch.float16, device="cuda"))
torch.cuda.synchronize()
