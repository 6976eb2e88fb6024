/** Puts answers into lines. */
#include "answer.h"

#include <string.h>

static const size_t LONGEST_LINE = 512;

Answer done(const std::string& text) { return {"", text}; }

Answer refused(const char* code, const std::string& sentence) { return {code, sentence}; }

Answer failedCall(const char* code, const std::string& what, int err) {
  return {code, what + ": " + strerrordesc_np(err)};
}

std::string lineOf(const Answer& answer) {
  std::string line = answer.isOk() ? "ok" : "error " + answer.code;
  if (!answer.text.empty()) line += " " + answer.text;
  if (line.size() >= LONGEST_LINE) line.resize(LONGEST_LINE - 1);
  for (char& c : line)
    if (c < ' ' || c > '~') c = ' ';
  return line + "\n";
}
