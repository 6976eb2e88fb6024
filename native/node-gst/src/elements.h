/** Elements of our own, known to pipeline descriptions by name. */
#pragma once

/** Registers all of them, when GStreamer has started. Each is made by the file of its name, which has one function for it. */
void addElements();

void addRtpSink();
void addRtpSource();
