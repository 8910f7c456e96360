# Documents. A page that a part adds is named here, so that it is distributed and installed.
dist_doc_DATA += doc/ucx.md doc/architecture.md doc/building.md doc/configuration.md doc/developing.md doc/manager.md doc/softswitch.md doc/benchmarks.md
dist_man_MANS += doc/ina.conf.5
