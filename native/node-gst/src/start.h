/** GStreamer, started once in this process, with the plugins that sound needs and no others. */
#pragma once

#include <node_api.h>

/** Any thread, any number of times. False where GStreamer refuses; throwStartFailure says why. */
bool startGst();

napi_value throwStartFailure(napi_env env);
