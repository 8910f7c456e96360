/* uct_ina_counters.h: what all ina interfaces of this process have counted since it started.
 * Used by the component for its performance variables, and by tests.
 * Counts only; nothing can be set. */
#ifndef UCT_INA_COUNTERS_H
#define UCT_INA_COUNTERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct uct_ina_counters {
  uint64_t packets_sent;
  uint64_t packets_received;
  uint64_t bytes_sent;       /* payload, retransmissions included */
  uint64_t bytes_received;   /* payload that was executed */
  uint64_t system_calls;     /* to send and to receive */
  uint64_t empty_receives;   /* of system_calls */
  uint64_t retransmissions;  /* packets */
  uint64_t timeouts;
  uint64_t acks_sent;
  uint64_t acks_received;
  uint64_t naks_sent;        /* sequence errors */
  uint64_t naks_received;
  uint64_t duplicates;       /* received */
  uint64_t dropped;          /* received and refused, for any reason */
  uint64_t bad_icrc;         /* of dropped */
  uint64_t failed_endpoints;
} uct_ina_counters_t;

/* May be called at any time from any thread. */
__attribute__((visibility("default"))) void uct_ina_query_counters(uct_ina_counters_t* counters);

#ifdef __cplusplus
}
#endif

#endif
