/** Asks ptp4l how it is, again and again, through one pmc that stays. */
import { durationText } from '#kit/bytes/words.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import type { PmcAnswer } from '../../wire/ptp/pmc-answer.ts'
import { createPmcReader } from '../../wire/ptp/pmc-reader.ts'
import { type Child, startChild } from './child.ts'

export interface PmcOptions {
  clock: Clock
  /** Path of the program. */
  program: string
  /** That ptp4l listens at. */
  socket: string
  domain: number
  pollMs: number
  memoryBytes: number
  /** Time in which something must be answered. */
  answerMs: number
  onAnswer(answer: PmcAnswer): void
  /** It is of no use any more. Once. */
  onEnd(sentence: string): void
}

export interface PmcDialog {
  end(): Promise<void>
}

/** Between two of these the time is asked for. */
const OTHERS = [
  'PORT_DATA_SET',
  'PARENT_DATA_SET',
  'TIME_PROPERTIES_DATA_SET',
  'GRANDMASTER_SETTINGS_NP',
  'DEFAULT_DATA_SET',
  'CURRENT_DATA_SET',
]
/** An answer that is not there after this may have been lost: datagrams are. */
const AGAIN_MS = 250

/**
 * The time is asked for every `pollMs`, and right after its answer one of the others, in turn: pmc reads its input through
 * a buffer that it does not look into twice, so it gets one question at a time.
 * @source linuxptp 3.1.1 pmc.c, main: poll and fgets on the same descriptor
 */
export function openPmcDialog(options: PmcOptions): PmcDialog {
  const { answerMs, clock, onAnswer, onEnd, pollMs } = options
  const reader = createPmcReader()
  let asked: { name: string; atMs: number } | undefined
  let answeredMs = clock.monotonicMs()
  let turn = 0
  let isOver = false
  let timer: Timer | undefined

  const child: Child = startChild(
    options.program,
    ['-u', '-b', '0', '-d', String(options.domain), '-s', options.socket, '-i', `${options.socket}.pmc`],
    {
      memoryBytes: options.memoryBytes,
      onText: (text) => reader.push(text).forEach(take),
      onEnd: (how) => over(`pmc ${how}`),
    },
  )

  function over(sentence: string): void {
    timer?.cancel()
    if (isOver) return
    isOver = true
    onEnd(sentence)
  }

  function ask(name: string): void {
    asked = { name, atMs: clock.monotonicMs() }
    child.write(`GET ${name}\n`)
  }

  function take(answer: PmcAnswer): void {
    if (isOver) return
    answeredMs = clock.monotonicMs()
    const wasTime = asked?.name === 'TIME_STATUS_NP'
    asked = undefined
    onAnswer(answer)
    if (wasTime) ask(OTHERS[turn++ % OTHERS.length] ?? 'PORT_DATA_SET')
  }

  function poll(): void {
    const nowMs = clock.monotonicMs()
    if (nowMs - answeredMs > answerMs) over(`ptp4l has not answered for ${durationText(answerMs)}.`)
    else if (asked === undefined || nowMs - asked.atMs > AGAIN_MS) ask('TIME_STATUS_NP')
  }

  timer = clock.every(pollMs, poll)
  poll()
  return {
    end() {
      timer?.cancel()
      isOver = true
      return child.end()
    },
  }
}
