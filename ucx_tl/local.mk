include ucx_tl/engine/local.mk
