/** The sound cards of a machine, as the kernel lists them in /proc/asound. */

/** More cards and devices are not listed: no machine has as many, and the text stays bounded. */
const MOST_DEVICES = 64

/** One device of a card; it plays, captures, or both. */
export interface SoundCard {
  /** ALSA name that stays the same across restarts and other cards: `hw:CARD=PCH,DEV=0`. */
  alsa: string
  /** Display name: `HDA Intel PCH, ALC257 Analog`. */
  name: string
  /** Number of the card, as in `hw:0`. */
  index: number
  /** The kernel's short name of the card. */
  id: string
  /** Number of the device on the card. */
  device: number
  plays: boolean
  captures: boolean
}

/**
 * Lists the devices in the kernel's order. Lines that do not parse are skipped.
 * @param cards text of /proc/asound/cards
 * @param pcm text of /proc/asound/pcm
 * @source Linux sound/core/init.c snd_card_info_read, sound/core/pcm.c snd_pcm_proc_read
 */
export function readSoundCards(cards: string, pcm: string): SoundCard[] {
  const byIndex = new Map<number, { id: string; name: string }>()
  for (const [, index, id, name] of cards.matchAll(/^ *(\d{1,3}) \[([^\]\n]{1,32})\]: [^\n]*? - ([^\n]*)$/gm)) {
    byIndex.set(Number(index), { id: (id ?? '').trim(), name: (name ?? '').trim() })
  }
  const found: SoundCard[] = []
  for (const line of pcm.split('\n').slice(0, MOST_DEVICES)) {
    const match = /^(\d{1,3})-(\d{1,3}): ([^:]*): ([^:]*)((?: : (?:playback|capture) \d+)+)$/.exec(line.trimEnd())
    const card = byIndex.get(Number(match?.[1]))
    if (!match || !card) continue
    const [, index, device, , deviceName, ways] = match
    found.push({
      alsa: `hw:CARD=${card.id},DEV=${Number(device)}`,
      name: nameOf(card.name, (deviceName ?? '').trim()),
      index: Number(index),
      id: card.id,
      device: Number(device),
      plays: / playback /.test(ways ?? ''),
      captures: / capture /.test(ways ?? ''),
    })
  }
  return found
}

/** Many drivers give device and card the same name. */
function nameOf(card: string, device: string): string {
  return device === '' || device.toLowerCase() === card.toLowerCase() ? card : `${card}, ${device}`
}
