/** Where the sound of an encoder comes from. */

/** An ALSA name that is empty means the first card. */
export type AudioSource = { kind: 'tone' } | { kind: 'file'; path: string } | { kind: 'alsa'; name: string }

/** @param text `tone`, `file:PATH` or an ALSA name */
export function audioSourceOf(text: string): AudioSource {
  if (text === 'tone') return { kind: 'tone' }
  return text.startsWith('file:') ? { kind: 'file', path: text.slice(5) } : { kind: 'alsa', name: text }
}

/** For people, before the source is open. */
export function sourceName(source: AudioSource): string {
  if (source.kind === 'tone') return 'A tone of 997 Hz'
  if (source.kind === 'file') return source.path
  return source.name === '' ? 'The first sound card' : source.name
}
