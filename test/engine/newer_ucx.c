/* newer_ucx.c: a stand-in for a UCX that is newer than any that the transport knows, as far as its symbols tell.
 * Preloaded by test/engine/ucx_version.
 * Does nothing. */
__attribute__((visibility("default"))) void uct_iface_base_query_v2(void);

void uct_iface_base_query_v2(void) {}
