/** What a caller is answered: `ok[ text]` or `error CODE sentence`, one line. */
#pragma once

#include <string>

/** An answer. `code` is empty where the verb was done; `text` is then what it has to say, else one sentence. */
struct Answer {
  std::string code;
  std::string text;

  bool isOk() const { return code.empty(); }
};

Answer done(const std::string& text = "");
Answer refused(const char* code, const std::string& sentence);

/** A system call that failed: `code`, and a sentence that ends with what errno means. */
Answer failedCall(const char* code, const std::string& what, int err);

/** The line that is sent, with its end: at most 512 bytes of printable ASCII whatever a program printed. */
std::string lineOf(const Answer& answer);
