/** Reads the messages of a bus. */
#include "messages.h"

#include <algorithm>

using Parse = void (*)(GstMessage*, GError**, gchar**);

std::string sourceOf(GstMessage* message) {
  const gchar* name = GST_MESSAGE_SRC(message) == nullptr ? nullptr : GST_OBJECT_NAME(GST_MESSAGE_SRC(message));
  return name == nullptr ? "" : name;
}

/** "resource_not_found": the domain of a GError and the nick of its code, as one word of our own kind. */
static std::string codeOf(const GError* error) {
  GType type = 0;
  std::string domain = "other";
  if (error->domain == GST_RESOURCE_ERROR) domain = "resource", type = GST_TYPE_RESOURCE_ERROR;
  if (error->domain == GST_STREAM_ERROR) domain = "stream", type = GST_TYPE_STREAM_ERROR;
  if (error->domain == GST_CORE_ERROR) domain = "core", type = GST_TYPE_CORE_ERROR;
  if (error->domain == GST_LIBRARY_ERROR) domain = "library", type = GST_TYPE_LIBRARY_ERROR;
  if (type == 0) return domain;
  auto kinds = static_cast<GEnumClass*>(g_type_class_ref(type));
  GEnumValue* kind = g_enum_get_value(kinds, error->code);
  std::string code = domain + "_" + (kind == nullptr ? "other" : kind->value_nick);
  g_type_class_unref(kinds);
  std::replace(code.begin(), code.end(), '-', '_');
  return code;
}

static void readError(GstMessage* message, const char* type, Parse parse, Value::Fields* told) {
  GError* error = nullptr;
  gchar* debug = nullptr;
  parse(message, &error, &debug);
  told->emplace_back("type", Value{std::string(type)});
  told->emplace_back("element", Value{sourceOf(message)});
  told->emplace_back("code", Value{codeOf(error)});
  told->emplace_back("message", Value{std::string(error->message)});
  told->emplace_back("debug", Value{std::string(debug == nullptr ? "" : debug)});
  g_error_free(error);
  g_free(debug);
}

static void readElement(GstMessage* message, Value::Fields* told) {
  const GstStructure* structure = gst_message_get_structure(message);
  bool isLevel = gst_structure_has_name(structure, "level");
  told->emplace_back("type", Value{std::string(isLevel ? "level" : "element")});
  told->emplace_back("element", Value{sourceOf(message)});
  if (isLevel) {
    told->emplace_back("peakDb", valueOf(gst_structure_get_value(structure, "peak")));
    told->emplace_back("rmsDb", valueOf(gst_structure_get_value(structure, "rms")));
    return;
  }
  GValue whole = G_VALUE_INIT;
  g_value_init(&whole, GST_TYPE_STRUCTURE);
  gst_value_set_structure(&whole, structure);
  told->emplace_back("name", Value{std::string(gst_structure_get_name(structure))});
  told->emplace_back("fields", valueOf(&whole));
  g_value_unset(&whole);
}

Telling readMessage(GstMessage* message, Value::Fields* told) {
  switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_ERROR:
      readError(message, "error", gst_message_parse_error, told);
      return Telling::ALWAYS;
    case GST_MESSAGE_WARNING:
      readError(message, "warning", gst_message_parse_warning, told);
      return Telling::ALWAYS;
    case GST_MESSAGE_EOS:
      told->emplace_back("type", Value{std::string("eos")});
      return Telling::ALWAYS;
    case GST_MESSAGE_ELEMENT:
      readElement(message, told);
      return Telling::OFTEN;
    default:
      return Telling::NOT;
  }
}

std::string sentenceOf(GstMessage* message) {
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  std::string sentence = sourceOf(message) + ": " + error->message;
  g_error_free(error);
  return sentence;
}
