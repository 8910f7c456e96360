# ucx_tl/engine
