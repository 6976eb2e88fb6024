/** The links of the chain that are about time: a clock is there, and it is the sender's. */
import type { Judgement } from '../../../core/sound/sound.ts'
import type { DecoderFacts } from './decoder-facts.ts'

export function clockJudgement({ broken, ptp, sync, announcement, reception }: DecoderFacts): Judgement {
  if (broken === 'no_ptp_lock') {
    const wanted = announcement?.refclk?.kind === 'ptp' ? ` of ${announcement.refclk.grandmaster}` : ''
    return { state: 'fault', code: 'no_ptp_lock', text: `The stream needs the clock${wanted}. ${ptp.text}` }
  }
  const { senderGoneMs, soundlessMs, transitMs, wildAgeMs } = reception
  if (wildAgeMs !== null && wildAgeMs < senderGoneMs && soundlessMs >= senderGoneMs)
    return { state: 'fault', code: 'other_time', text: otherTimeText(transitMs) }
  if (sync === 'arrival')
    return {
      state: 'ok',
      code: 'by_arrival',
      text: 'The sender keeps its own time; it is played by the arrival of its packets.',
    }
  if (announcement?.refclk?.kind !== 'ptp')
    return { state: 'ok', code: null, text: 'Played by the clock of this board.' }
  if (ptp.state === 'locked' || ptp.state === 'master') return { state: 'ok', code: null, text: ptp.text }
  return { state: 'warn', code: 'holdover', text: `${ptp.text} The sound goes on by the last clock.` }
}

function otherTimeText(transitMs: number | null): string {
  if (transitMs === null) return 'Timestamps are of another time than the clock of this board.'
  const seconds = Math.abs(transitMs / 1000).toFixed(3)
  return `Timestamps are ${seconds} s ${transitMs > 0 ? 'behind' : 'ahead of'} the clock of this board.`
}

export function grandmasterJudgement({ announcement, broken, brokenSoon, refClock, sync }: DecoderFacts): Judgement {
  const theirs = announcement?.refclk
  if (theirs?.kind !== 'ptp' || sync === 'arrival')
    return { state: 'ok', code: null, text: 'The stream names no grandmaster that both would have to follow.' }
  const ours = refClock.kind === 'ptp' ? `${refClock.grandmaster} in domain ${refClock.domain}` : 'no grandmaster'
  const named = `${theirs.grandmaster} in domain ${theirs.domain}`
  if (broken === 'other_grandmaster')
    return {
      state: 'fault',
      code: 'other_grandmaster',
      text: `The sender follows ${named}; this board follows ${ours}.`,
    }
  if (brokenSoon === 'other_grandmaster') {
    const text = `The sender follows ${named}; this board follows ${ours}. They may be about to change; the sound goes on.`
    return { state: 'warn', code: 'other_grandmaster', text }
  }
  return { state: 'ok', code: null, text: `Sender and board follow ${named}.` }
}
