/** Messages of a bus as plain values: what JavaScript is told of a pipeline. */
#pragma once

#include <gst/gst.h>

#include <string>

#include "value.h"

/** What becomes of a message. */
enum class Telling {
  /** JavaScript has no use for it. */
  NOT,
  /** One of many, where a later one says the same again: levels, and what elements say. */
  OFTEN,
  /** Errors, warnings, the end of the stream. */
  ALWAYS,
};

/** Any thread: the message as an object with a `type`. */
Telling readMessage(GstMessage* message, Value::Fields* told);

/** Name of the element that a message came from. */
std::string sourceOf(GstMessage* message);

/** Of an error message: "filesrc0: Resource not found. (debug)". */
std::string sentenceOf(GstMessage* message);
