/** What JavaScript sees: the calls of each family. */
#include <node_api.h>

#include "family.h"

NAPI_MODULE_INIT() {
  addStartCalls(env, exports);
  addClockCalls(env, exports);
  addPipelineCalls(env, exports);
  addAppCalls(env, exports);
  addSenderCalls(env, exports);
  addReceiverCalls(env, exports);
  return exports;
}
