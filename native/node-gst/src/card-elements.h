/** The elements that stand between a pipeline and a sound card. Each function registers one, once GStreamer has started. */
#pragma once

/** `plantroomdrift`: S32LE resampled by `ppm`; `steered-ppm`, `exact` and `clipped` are read. */
void addDrift();

/**
 * `plantroomcardsink`: plays S32LE at 48 kHz to ALSA `device`, not synchronised: who writes keeps the pace.
 * Has `fill-ms` and `buffer-ms`; `fill` (mean of the frames in the card's buffer since the last read, -1 for none),
 * `starts`, `xruns`, `dropped`, `frames` and `format` are read; `refill` set to true makes the fill anew.
 */
void addCardSink();

/** `plantroomcardsrc`: captures, live, blocks of 1 ms; the same properties. Blocks back up in the card's buffer. */
void addCardSource();
