/** Whether sound goes out, and whether others can trust it: the chain from the source to its announcement. */
import { isLockedState, type PtpView } from '../../../core/ptp/ptp.ts'
import type { Meters } from '../../../core/role.ts'
import { type Check, type Judgement, judgeChain } from '../../../core/sound/sound.ts'
import type { FeedState } from './feed-state-table.ts'
import type { SentFacts } from './ports.ts'

export type EncoderCheckName = 'input' | 'level' | 'clock' | 'sending' | 'announced'

/** What is known of an encoder. */
export interface EncoderFacts {
  source: {
    name: string
    kind: 'tone' | 'file' | 'alsa'
    state: FeedState
    fault: { code: string; message: string } | null
  }
  channels: number
  packetMs: number
  meters: Meters | null
  silenceS: number | null
  /** Silence of as long a time is warned of. */
  mostSilenceS: number
  ptp: PtpView
  sent: SentFacts | null
  /** Of the last second; null before there was one. */
  lastSecond: { packets: number; errors: number } | null
  announced: { sap: boolean; last_at: number | null; rtsp: boolean }
  /** Of the settings; `announced.sap` is whether it can be. */
  isSapWanted: boolean
}

/** Nothing sent for so long is an interruption and no late packet. */
const IDLE_MS = 1000

/** @returns all links in the order of the chain */
export function encoderChecks(facts: EncoderFacts): Check<EncoderCheckName>[] {
  return judgeChain<EncoderCheckName>([
    ['input', () => inputJudgement(facts)],
    ['level', () => levelJudgement(facts)],
    ['clock', () => clockJudgement(facts)],
    ['sending', () => sendingJudgement(facts)],
    ['announced', () => announcedJudgement(facts)],
  ])
}

function ok(text: string, code: string | null = null): Judgement {
  return { state: 'ok', code, text }
}

function inputJudgement({ source: { fault, kind, name, state }, channels }: EncoderFacts): Judgement {
  if (fault !== null) return { state: 'fault', code: fault.code, text: fault.message }
  if (state !== 'sending') return { state: 'not_judged', code: null, text: `${name} is being opened.` }
  const many = channels === 1 ? '1 channel' : `${channels} channels`
  return ok(
    kind === 'tone' ? `${name} in ${many}, in place of a source.` : `${name}, ${many}.`,
    kind === 'tone' ? 'tone' : null,
  )
}

function levelJudgement({ meters, mostSilenceS, silenceS }: EncoderFacts): Judgement {
  if (meters === null) return ok('Not measured yet.')
  if (silenceS !== null && silenceS >= mostSilenceS)
    return {
      state: 'warn',
      code: 'silence',
      text: `The input has been silent for ${silenceS} s: is something plugged in, and playing?`,
    }
  const loudest = Math.max(...meters.peak_db.map((db) => db ?? Number.NEGATIVE_INFINITY))
  return ok(Number.isFinite(loudest) ? `Peak ${loudest.toFixed(1)} dBFS.` : 'Silent.')
}

function clockJudgement({ ptp }: EncoderFacts): Judgement {
  if (!ptp.enabled) return ok('PTP is off: the stream is sent on the clock of this machine alone.', 'own_clock')
  if (ptp.state === 'locked' || ptp.state === 'master') return ok(ptp.text)
  if (isLockedState(ptp.state)) return { state: 'warn', code: 'holdover', text: ptp.text }
  return { state: 'warn', code: 'no_ptp_lock', text: `The board sends on its own clock. ${ptp.text}` }
}

function sendingJudgement({ lastSecond, packetMs, sent }: EncoderFacts): Judgement {
  if (sent === null || lastSecond === null)
    return { state: 'not_judged', code: null, text: 'Nothing has been sent yet.' }
  if (sent.idleMs === null || sent.idleMs > IDLE_MS)
    return { state: 'fault', code: 'nothing_sent', text: 'Nothing goes out: the source gives no sound.' }
  const { packets, errors } = lastSecond
  const why = sent.error === null ? '' : `: ${sent.error}`
  if (errors > 0 && packets === 0)
    return { state: 'fault', code: 'not_sent', text: `The network takes none of the packets${why}.` }
  if (errors > 0)
    return {
      state: 'warn',
      code: 'some_not_sent',
      text: `The network did not take ${errors} packets in the last second${why}.`,
    }
  const lateUs = sent.lateUs?.p99 ?? 0
  if (lateUs > packetMs * 1000)
    return {
      state: 'warn',
      code: 'late',
      text: `One packet of a hundred leaves ${(lateUs / 1000).toFixed(1)} ms late: the machine is too busy.`,
    }
  return ok(`${packets} packets a second, none refused.`)
}

function announcedJudgement({ announced: { last_at: lastAt, rtsp, sap }, isSapWanted }: EncoderFacts): Judgement {
  const ways = [...(sap ? ['SAP'] : []), ...(rtsp ? ['RTSP'] : [])]
  if (sap && lastAt === null)
    return { state: 'warn', code: 'not_announced', text: 'No announcement could be sent yet.' }
  if (isSapWanted && !sap) {
    const text = `No announcement goes out over SAP: the network takes none.${rtsp ? ' It is found by RTSP.' : ''}`
    return { state: 'warn', code: 'not_announced', text }
  }
  if (ways.length === 0) return ok('Announced nowhere: SAP is off in the settings.', 'not_announced')
  return ok(`By ${ways.join(' and ')}.`)
}
