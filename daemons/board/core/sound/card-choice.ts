/** Which sound card is used where the installer named one, or none. */
import { Fault } from '#kit/fault.ts'
import type { SoundCard } from '../../wire/sound/sound-cards.ts'

/** What a card is wanted for. */
export type CardUse = 'plays' | 'captures'

/** The card that was chosen. */
export interface ChosenCard {
  /** What ALSA opens. */
  alsa: string
  /** For people. */
  name: string
  /** Whether it is plugged in; null where its name is one of ALSA's own, that says nothing of a card. */
  found: boolean | null
}

const USES: Readonly<Record<CardUse, string>> = { plays: 'plays', captures: 'records' }

/**
 * @param wanted ALSA name as the settings have it; empty for the first card
 * @throws Fault `no_card` where none is named and none is there
 */
export function chooseCard(cards: readonly SoundCard[], wanted: string, use: CardUse): ChosenCard {
  if (wanted !== '') {
    const named = /^(?:plug)?hw:(?:CARD=)?([^,=]+)(?:,(?:DEV=)?(\d+))?$/.exec(wanted)
    if (!named) return { alsa: wanted, name: wanted, found: null }
    const [, card, device = '0'] = named
    const isIt = (each: SoundCard) => each.id === card || String(each.index) === card
    const found = cards.find((each) => isIt(each) && each.device === Number(device))
    return { alsa: wanted, name: found?.name ?? wanted, found: found?.[use] ?? false }
  }
  const first = cards.find((each) => each[use])
  if (first) return { alsa: first.alsa, name: first.name, found: true }
  const others = cards.length === 0 ? 'no sound card' : `${cards.length} sound devices, and none that ${USES[use]}`
  throw new Fault('no_card', `This machine has ${others}: plug one in, or name it in the settings.`)
}
