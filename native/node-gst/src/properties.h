/** Properties of the elements of a pipeline, by name. */
#pragma once

#include <gst/gst.h>
#include <node_api.h>

#include <string>

/** Why something was refused; `code` is empty while nothing was. */
struct Refusal {
  std::string code;
  std::string sentence;
};

/**
 * Main thread. Sets a property from a JavaScript value: booleans, numbers and bigints by their kind, text for all else
 * (enumerations by nick, caps, fractions).
 * Refuses unknown elements and properties with the names that there are, and values of another kind or out of range.
 */
Refusal setProperty(napi_env env, GstElement* pipeline, const std::string& element, const std::string& property,
                    napi_value value);

/** Main thread. `*value` is what the property holds now. */
Refusal getProperty(napi_env env, GstElement* pipeline, const std::string& element, const std::string& property,
                    napi_value* value);
