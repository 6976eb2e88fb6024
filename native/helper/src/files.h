/** Reads, writes and replaces small files. */
#pragma once

#include <string>

/** First line of a small file, without its end; empty where it cannot be read. */
std::string readLine(const std::string& path);

/** Writes an attribute of sysfs in one call, as the kernel wants it. @returns 0 or errno */
int writeAttribute(const std::string& path, const std::string& text);

/** The last part of what a symbolic link points to; empty where there is none. */
std::string linkedName(const std::string& path);

bool exists(const std::string& path);

/** Replaces a file whole, mode 0644: after a power cut there is the old one or the new one. @returns 0 or errno */
int replaceFile(const std::string& folder, const std::string& name, const std::string& text);
