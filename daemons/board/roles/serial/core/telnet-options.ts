/** Negotiates Telnet options for both sides: what we offer and accept, and never the same word twice. */
import { OPTION, type OptionVerb } from '../wire/telnet.ts'

// State table of one side's option: state x event -> next state.

/**
 * - `off` not mentioned yet
 * - `asked` we offered it and wait for the answer
 * - `on` both sides agreed
 * - `refused` the other side declined
 */
export type TelnetOptionState = 'off' | 'asked' | 'on' | 'refused'

/**
 * - `offered` we offer it first
 * - `agreed` WILL or DO came
 * - `declined` WONT or DONT came
 */
export type TelnetOptionEvent = 'offered' | 'agreed' | 'declined'

/** Events not listed leave the state as it is. @source RFC 854; RFC 1143, 7 (we never end an option) */
export const telnetOptionTable: Readonly<
  Record<TelnetOptionState, Partial<Record<TelnetOptionEvent, TelnetOptionState>>>
> = {
  off: { offered: 'asked', agreed: 'on', declined: 'refused' },
  asked: { agreed: 'on', declined: 'refused' },
  on: { declined: 'refused' },
  refused: { agreed: 'on' },
}

/** @returns the next state; the same if the table has no such pair */
export function nextOptionState(state: TelnetOptionState, event: TelnetOptionEvent): TelnetOptionState {
  return telnetOptionTable[state][event] ?? state
}

// Both sides of all options.

/** One option command. */
export interface OptionWord {
  verb: OptionVerb
  option: number
}

/** The options of one connection. `ours` is what we do (WILL, DO), `theirs` what the peer does. */
interface TelnetOptions {
  /** What we send first. */
  offers(): OptionWord[]
  /** @returns our answer; undefined if none is due */
  hear(word: OptionWord): OptionWord | undefined
  ours(option: number): TelnetOptionState
  theirs(option: number): TelnetOptionState
}

/** ECHO: the device on the line echoes, so a terminal must not. @source RFC 856, RFC 857, RFC 858, RFC 2217 */
const OURS: readonly number[] = [OPTION.binary, OPTION.echo, OPTION.sga, OPTION.comPort]
const THEIRS: readonly number[] = [OPTION.binary, OPTION.sga, OPTION.comPort]
/** COM-PORT-OPTION is the client's to offer; a client that asks us for it is not refused (python3-serial does). */
const OFFERED = [OPTION.binary, OPTION.echo, OPTION.sga]

/** Two peers could turn an option on and off forever, each answering the other: after this many turns it stays off. */
const MOST_TURNS = 8

/** Answers only what changes something, and each request for what we do not support: no loop can start. */
export function createTelnetOptions(): TelnetOptions {
  const ours = new Map<number, TelnetOptionState>(OURS.map((option) => [option, 'off']))
  const theirs = new Map<number, TelnetOptionState>(THEIRS.map((option) => [option, 'off']))

  let turns = 0

  function hear({ verb, option }: OptionWord): OptionWord | undefined {
    const isOurs = verb === 'do' || verb === 'dont'
    const isAgreed = verb === 'do' || verb === 'will'
    const states = isOurs ? ours : theirs
    const was = states.get(option)
    if (was === undefined) return isAgreed ? { verb: isOurs ? 'wont' : 'dont', option } : undefined
    const next = nextOptionState(was, isAgreed ? 'agreed' : 'declined')
    states.set(option, next)
    if (was === 'on' && next !== was && ++turns >= MOST_TURNS) states.delete(option)
    if (was === 'asked' || was === next) return undefined
    if (next === 'on') return { verb: isOurs ? 'will' : 'do', option }
    // RFC 854: refusing an option that was never on needs no answer.
    return was === 'on' ? { verb: isOurs ? 'wont' : 'dont', option } : undefined
  }

  return {
    offers() {
      for (const option of OFFERED) ours.set(option, nextOptionState('off', 'offered'))
      for (const option of THEIRS) theirs.set(option, nextOptionState('off', 'offered'))
      return [
        ...OFFERED.map((option) => ({ verb: 'will' as const, option })),
        ...THEIRS.map((option) => ({ verb: 'do' as const, option })),
      ]
    },
    hear,
    ours: (option) => ours.get(option) ?? 'refused',
    theirs: (option) => theirs.get(option) ?? 'refused',
  }
}
