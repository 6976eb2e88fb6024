/** The name of a sound card as ALSA has it, in the settings of a board. */

/** Letters, digits and what ALSA names are made of; nothing that a pipeline could read as its own. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_:,.=-]*$/

/** Plugins of ALSA that write a file wherever the name says: no cards. @source alsa-lib, alsa.conf: pcm.file, pcm.tee */
const WRITES_FILES = /^(file|tee)(:|$)/

/** Why a text is no name of a sound card; undefined where it is one, or empty. */
export function alsaNameFault(text: string): string | undefined {
  if (text === '' || (NAME.test(text) && !WRITES_FILES.test(text))) return undefined
  return `${JSON.stringify(text.slice(0, 32))} is no ALSA name. Names look like hw:1, plughw:0,0 or default:CARD=Device.`
}
