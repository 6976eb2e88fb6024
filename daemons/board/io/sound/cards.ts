/** The sound cards of this machine. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readSoundCards, type SoundCard } from '../../wire/sound/sound-cards.ts'

/**
 * As they are now.
 * @param folder `/proc/asound`, or one like it; absent where the kernel has no sound, which gives none
 */
export async function listCards(folder = '/proc/asound'): Promise<SoundCard[]> {
  const [cards, pcm] = await Promise.all(['cards', 'pcm'].map((name) => textOf(join(folder, name))))
  return readSoundCards(cards ?? '', pcm ?? '')
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return '' // no sound in this kernel: no cards
  }
}
