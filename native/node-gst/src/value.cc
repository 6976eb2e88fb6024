/** Copies GValues, and makes JavaScript values of the copies. */
#include "value.h"

#include <gst/gst.h>

static Value listOf(const GValue* value, guint size, const GValue* (*at)(const GValue*, guint)) {
  Value::List list;
  for (guint i = 0; i < size; i++) list.push_back(valueOf(at(value, i)));
  return {std::move(list)};
}

/** `level` says its figures in GValueArray, which GLib has deprecated and the element has not given up. */
static Value oldListOf(const GValue* value) {
  G_GNUC_BEGIN_IGNORE_DEPRECATIONS
  auto array = static_cast<GValueArray*>(g_value_get_boxed(value));
  Value::List list;
  for (guint i = 0; array != nullptr && i < array->n_values; i++) list.push_back(valueOf(&array->values[i]));
  G_GNUC_END_IGNORE_DEPRECATIONS
  return {std::move(list)};
}

static Value fieldsOf(const GstStructure* structure) {
  Value::Fields fields;
  for (int i = 0; structure != nullptr && i < gst_structure_n_fields(structure); i++) {
    const gchar* name = gst_structure_nth_field_name(structure, i);
    fields.emplace_back(name, valueOf(gst_structure_get_value(structure, name)));
  }
  return {std::move(fields)};
}

static Value textOf(const GValue* value) {
  gchar* text = gst_value_serialize(value);
  if (text == nullptr) return {};
  Value copy{std::string(text)};
  g_free(text);
  return copy;
}

static Value boxedOf(const GValue* value) {
  G_GNUC_BEGIN_IGNORE_DEPRECATIONS
  if (G_VALUE_HOLDS(value, g_value_array_get_type())) return oldListOf(value);
  G_GNUC_END_IGNORE_DEPRECATIONS
  if (GST_VALUE_HOLDS_STRUCTURE(value)) return fieldsOf(gst_value_get_structure(value));
  return textOf(value);
}

static Value stringOf(const GValue* value) {
  const gchar* text = g_value_get_string(value);
  return text == nullptr ? Value{} : Value{std::string(text)};
}

Value valueOf(const GValue* value) {
  switch (G_TYPE_FUNDAMENTAL(G_VALUE_TYPE(value))) {
    case G_TYPE_BOOLEAN: return {g_value_get_boolean(value) != FALSE};
    case G_TYPE_INT: return {static_cast<double>(g_value_get_int(value))};
    case G_TYPE_UINT: return {static_cast<double>(g_value_get_uint(value))};
    case G_TYPE_INT64: return {static_cast<int64_t>(g_value_get_int64(value))};
    case G_TYPE_UINT64: return {static_cast<uint64_t>(g_value_get_uint64(value))};
    case G_TYPE_LONG: return {static_cast<int64_t>(g_value_get_long(value))};
    case G_TYPE_ULONG: return {static_cast<uint64_t>(g_value_get_ulong(value))};
    case G_TYPE_FLOAT: return {static_cast<double>(g_value_get_float(value))};
    case G_TYPE_DOUBLE: return {g_value_get_double(value)};
    case G_TYPE_STRING: return stringOf(value);
    case G_TYPE_BOXED: return boxedOf(value);
  }
  if (GST_VALUE_HOLDS_ARRAY(value)) return listOf(value, gst_value_array_get_size(value), gst_value_array_get_value);
  if (GST_VALUE_HOLDS_LIST(value)) return listOf(value, gst_value_list_get_size(value), gst_value_list_get_value);
  return textOf(value);
}

napi_value jsString(napi_env env, const std::string& text) {
  napi_value value;
  napi_create_string_utf8(env, text.c_str(), text.size(), &value);
  return value;
}

namespace {

/** One JavaScript value of each kind. */
struct Maker {
  napi_env env;

  napi_value operator()(std::monostate) const {
    napi_value value;
    napi_get_null(env, &value);
    return value;
  }
  napi_value operator()(bool flag) const {
    napi_value value;
    napi_get_boolean(env, flag, &value);
    return value;
  }
  napi_value operator()(int64_t number) const {
    napi_value value;
    napi_create_bigint_int64(env, number, &value);
    return value;
  }
  napi_value operator()(uint64_t number) const {
    napi_value value;
    napi_create_bigint_uint64(env, number, &value);
    return value;
  }
  napi_value operator()(double number) const {
    napi_value value;
    napi_create_double(env, number, &value);
    return value;
  }
  napi_value operator()(const std::string& text) const { return jsString(env, text); }
  napi_value operator()(const Value::List& list) const {
    napi_value array;
    napi_create_array_with_length(env, list.size(), &array);
    for (size_t i = 0; i < list.size(); i++) napi_set_element(env, array, i, jsValue(env, list[i]));
    return array;
  }
  napi_value operator()(const Value::Fields& fields) const {
    napi_value object;
    napi_create_object(env, &object);
    for (const auto& [name, field] : fields)
      napi_set_property(env, object, jsString(env, name), jsValue(env, field));
    return object;
  }
};

}  // namespace

napi_value jsValue(napi_env env, const Value& value) { return std::visit(Maker{env}, value.is); }
