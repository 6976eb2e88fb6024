/** Where a decoder plays to, as the installer or the settings have it. */

/** What `audio.sink` and the setting `audio_device` come to. */
export type Sink = { kind: 'null' } | { kind: 'file'; path: string } | { kind: 'alsa'; device: string }

/**
 * @param audioDevice of the settings: an ALSA name; empty takes the sink of board.toml
 * @param sink of board.toml: `null`, `file:PATH` or an ALSA name; empty is the first card
 */
export function chooseSink(audioDevice: string, sink: string): Sink {
  if (audioDevice !== '') return { kind: 'alsa', device: audioDevice }
  if (sink === 'null') return { kind: 'null' }
  const path = /^file:(.+)$/s.exec(sink)?.[1]
  return path === undefined ? { kind: 'alsa', device: sink } : { kind: 'file', path }
}
