/**
 * Starts GStreamer without its registry: a registry wants a file to write to, which a daemon without a home has not, and
 * else looks into a hundred plugins at every start. The few that sound needs are loaded by name, and what pictures need
 * where it is asked for.
 */
#include "start.h"

#include <dlfcn.h>
#include <gst/gst.h>
#include <stdlib.h>

#include <mutex>
#include <string>

#include "elements.h"
#include "family.h"
#include "js.h"

/** Plugins of gstreamer1.0-plugins-base and -good, and of the core. One that is not installed is left out. */
static const char* const PLUGINS[] = {
    "coreelements", "typefindfunctions", "playback",     "audiotestsrc", "audioconvert", "audioresample",
    "volume",       "level",             "wavparse",     "wavenc",       "audioparsers", "flac",
    "mpg123",       "ogg",               "vorbis",       "opus",
};

static std::string refusal;

/** Plugins lie beside the library: /usr/lib/<triplet>/gstreamer-1.0 on Debian. */
static std::string pluginFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(gst_init_check), &info) == 0) return "";
  std::string library = info.dli_fname;
  return library.substr(0, library.rfind('/') + 1) + "gstreamer-1.0/libgst";
}

static void loadPlugin(const std::string& name) {
  static const std::string folder = pluginFolder();
  GstPlugin* plugin = gst_plugin_load_file((folder + name + ".so").c_str(), nullptr);
  if (plugin == nullptr) return;
  gst_registry_add_plugin(gst_registry_get(), plugin);
  gst_object_unref(plugin);
}

static bool start() {
  // Else it reads, and writes, a file in the home of whoever runs this, and looks into every plugin there is.
  setenv("GST_REGISTRY_DISABLE", "yes", 1);
  GError* error = nullptr;
  bool isStarted = gst_init_check(nullptr, nullptr, &error);
  unsetenv("GST_REGISTRY_DISABLE");
  if (!isStarted) {
    refusal = error != nullptr ? error->message : "no reason given";
    g_clear_error(&error);
    return false;
  }
  for (const char* name : PLUGINS) loadPlugin(name);
  addElements();
  return true;
}

bool startGst() {
  static const bool isStarted = start();
  return isStarted;
}

napi_value throwStartFailure(napi_env env) { return throwCoded(env, "gst_start", "GStreamer does not start: " + refusal); }

/** start(...plugins): version */
static napi_value Start(napi_env env, napi_callback_info info) {
  Arguments arguments(env, info);
  if (!startGst()) return throwStartFailure(env);
  for (napi_value name : arguments.at) {
    std::string text = textOf(env, name);
    if (!text.empty()) loadPlugin(text);
  }
  gchar* text = gst_version_string();
  napi_value version;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &version);
  g_free(text);
  return version;
}

void addStartCalls(napi_env env, napi_value exports) {
  const napi_property_descriptor calls[] = {CALL("start", Start)};
  addCalls(env, exports, calls);
}
