/** Finds properties, and turns JavaScript values into theirs. */
#include "properties.h"

#include <math.h>

#include <vector>

#include "js.h"
#include "value.h"

static std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

static std::vector<std::string> elementNames(GstElement* pipeline) {
  std::vector<std::string> names;
  GstIterator* iterator = gst_bin_iterate_recurse(GST_BIN(pipeline));
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(iterator, &item) == GST_ITERATOR_OK) {
    names.emplace_back(GST_OBJECT_NAME(g_value_get_object(&item)));
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(iterator);
  return names;
}

static std::vector<std::string> propertyNames(GObject* element) {
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  std::vector<std::string> names;
  for (guint i = 0; i < count; i++) names.emplace_back(specs[i]->name);
  g_free(specs);
  return names;
}

/** One property of one element; holds a reference to the element. */
struct Found {
  GObject* element = nullptr;
  GParamSpec* spec = nullptr;
  Refusal refusal;

  Found(GstElement* pipeline, const std::string& elementName, const std::string& property, GParamFlags needs) {
    element = G_OBJECT(gst_bin_get_by_name(GST_BIN(pipeline), elementName.c_str()));
    if (element == nullptr) {
      refusal = {"no_element", "no element " + elementName + "; there are " + joined(elementNames(pipeline))};
      return;
    }
    spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), property.c_str());
    if (spec == nullptr)
      refusal = {"no_property",
                 elementName + " has no property " + property + "; it has " + joined(propertyNames(element))};
    else if ((spec->flags & needs) != needs)
      refusal = {"no_property", elementName + "." + property + " cannot be " +
                                    (needs == G_PARAM_WRITABLE ? "written" : "read")};
  }
  ~Found() {
    if (element != nullptr) g_object_unref(element);
  }
  Found(const Found&) = delete;
};

/** A whole number of JavaScript's, as number or bigint. */
static bool wholeOf(napi_env env, napi_value value, __int128* whole) {
  napi_valuetype type;
  napi_typeof(env, value, &type);
  if (type == napi_bigint) {
    int64_t low = 0;
    uint64_t high = 0;
    bool isExact = false;
    napi_get_value_bigint_int64(env, value, &low, &isExact);
    *whole = low;
    if (isExact) return true;
    napi_get_value_bigint_uint64(env, value, &high, &isExact);
    *whole = high;
    return isExact;
  }
  double number = type == napi_number ? numberOf(env, value) : NAN;
  if (!(fabs(number) <= 9007199254740991.0) || number != trunc(number)) return false;
  *whole = static_cast<int64_t>(number);
  return true;
}

static std::string textOf128(__int128 number) {
  return number < 0 ? std::to_string(static_cast<int64_t>(number)) : std::to_string(static_cast<uint64_t>(number));
}

/** Least and most of a property of whole numbers. False where it is none. */
static bool rangeOf(GParamSpec* spec, __int128* least, __int128* most) {
#define RANGE(KIND, Kind)                          \
  if (G_IS_PARAM_SPEC_##KIND(spec)) {              \
    *least = G_PARAM_SPEC_##KIND(spec)->minimum;   \
    *most = G_PARAM_SPEC_##KIND(spec)->maximum;    \
    return true;                                   \
  }
  RANGE(INT, Int) RANGE(UINT, UInt) RANGE(INT64, Int64) RANGE(UINT64, UInt64) RANGE(LONG, Long) RANGE(ULONG, ULong)
#undef RANGE
  return false;
}

static void setWhole(GValue* to, __int128 whole) {
  switch (G_VALUE_TYPE(to)) {
    case G_TYPE_INT: return g_value_set_int(to, static_cast<gint>(whole));
    case G_TYPE_UINT: return g_value_set_uint(to, static_cast<guint>(whole));
    case G_TYPE_INT64: return g_value_set_int64(to, static_cast<gint64>(whole));
    case G_TYPE_UINT64: return g_value_set_uint64(to, static_cast<guint64>(whole));
    case G_TYPE_LONG: return g_value_set_long(to, static_cast<glong>(whole));
    default: return g_value_set_ulong(to, static_cast<gulong>(whole));
  }
}

static std::string fillWhole(napi_env env, GParamSpec* spec, napi_value value, GValue* to) {
  __int128 least = 0, most = 0, whole = 0;
  rangeOf(spec, &least, &most);
  if (!wholeOf(env, value, &whole) || whole < least || whole > most)
    return "a whole number " + textOf128(least) + ".." + textOf128(most);
  setWhole(to, whole);
  return "";
}

static std::string fillReal(napi_env env, GParamSpec* spec, napi_value value, GValue* to) {
  bool isDouble = G_IS_PARAM_SPEC_DOUBLE(spec);
  double least = isDouble ? G_PARAM_SPEC_DOUBLE(spec)->minimum : G_PARAM_SPEC_FLOAT(spec)->minimum;
  double most = isDouble ? G_PARAM_SPEC_DOUBLE(spec)->maximum : G_PARAM_SPEC_FLOAT(spec)->maximum;
  double number = NAN;
  napi_get_value_double(env, value, &number);
  if (!(number >= least && number <= most)) return "a number " + std::to_string(least) + ".." + std::to_string(most);
  if (isDouble) g_value_set_double(to, number);
  else g_value_set_float(to, static_cast<gfloat>(number));
  return "";
}

/** @returns what the property takes, where the value is not that; else nothing */
static std::string fill(napi_env env, GParamSpec* spec, napi_value value, GValue* to) {
  napi_valuetype type;
  napi_typeof(env, value, &type);
  __int128 least, most;
  if (rangeOf(spec, &least, &most)) return fillWhole(env, spec, value, to);
  if (G_IS_PARAM_SPEC_DOUBLE(spec) || G_IS_PARAM_SPEC_FLOAT(spec)) return fillReal(env, spec, value, to);
  if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    if (type != napi_boolean) return "true or false";
    g_value_set_boolean(to, boolOf(env, value));
    return "";
  }
  std::string kind = std::string("text for ") + g_type_name(spec->value_type);
  if (type != napi_string) return kind;
  if (G_IS_PARAM_SPEC_STRING(spec)) {
    g_value_set_string(to, textOf(env, value).c_str());
    return "";
  }
  return gst_value_deserialize(to, textOf(env, value).c_str()) ? "" : kind;
}

Refusal setProperty(napi_env env, GstElement* pipeline, const std::string& element, const std::string& property,
                    napi_value value) {
  Found found(pipeline, element, property, G_PARAM_WRITABLE);
  if (!found.refusal.code.empty()) return found.refusal;
  if ((found.spec->flags & G_PARAM_CONSTRUCT_ONLY) != 0)
    return {"no_property", element + "." + property + " can be set in the description alone"};
  GValue to = G_VALUE_INIT;
  g_value_init(&to, found.spec->value_type);
  std::string wanted = fill(env, found.spec, value, &to);
  if (wanted.empty()) g_object_set_property(found.element, property.c_str(), &to);
  g_value_unset(&to);
  if (wanted.empty()) return {};
  return {"bad_value", element + "." + property + " takes " + wanted};
}

Refusal getProperty(napi_env env, GstElement* pipeline, const std::string& element, const std::string& property,
                    napi_value* value) {
  Found found(pipeline, element, property, G_PARAM_READABLE);
  if (!found.refusal.code.empty()) return found.refusal;
  GValue from = G_VALUE_INIT;
  g_value_init(&from, found.spec->value_type);
  g_object_get_property(found.element, property.c_str(), &from);
  *value = jsValue(env, valueOf(&from));
  g_value_unset(&from);
  return {};
}
