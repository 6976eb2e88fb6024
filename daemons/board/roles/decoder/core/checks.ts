/** Why a decoder is silent: the chain from the stream to the output, each link judged by what is known of it. */
import { durationText } from '#kit/bytes/words.ts'
import { type Check, type Judgement, judgeChain } from '../../../core/sound/sound.ts'
import { clockJudgement, grandmasterJudgement } from './clock-checks.ts'
import type { DecoderFacts } from './decoder-facts.ts'
import { formatJudgement, lossJudgement, packetsJudgement, senderJudgement, streamJudgement } from './stream-checks.ts'
import { SILENT_DB } from './volume-curve.ts'

export type DecoderCheckName =
  | 'stream'
  | 'packets'
  | 'sender'
  | 'format'
  | 'clock'
  | 'grandmaster'
  | 'loss'
  | 'volume'
  | 'output'

/** @returns all links in the order of the chain */
export function decoderChecks(facts: DecoderFacts): Check<DecoderCheckName>[] {
  return judgeChain<DecoderCheckName>([
    ['stream', () => streamJudgement(facts)],
    ['packets', () => packetsJudgement(facts)],
    ['sender', () => senderJudgement(facts)],
    ['format', () => formatJudgement(facts)],
    ['clock', () => clockJudgement(facts)],
    ['grandmaster', () => grandmasterJudgement(facts)],
    ['loss', () => lossJudgement(facts)],
    ['volume', () => volumeJudgement(facts)],
    ['output', () => outputJudgement(facts)],
  ])
}

/** A stream that carries nothing is told here: whoever hears nothing looks at the volume first. */
function volumeJudgement({ volume: { mute, volume_db }, output: { silenceMs, isPlaying } }: DecoderFacts): Judgement {
  if (mute) return { state: 'off', code: 'muted', text: 'It is muted.' }
  if (volume_db <= SILENT_DB) return { state: 'off', code: 'volume_zero', text: 'The volume is 0.' }
  if (isPlaying && silenceMs !== null && silenceMs >= SILENCE_TOLD_MS) {
    const seconds = Math.floor(silenceMs / 1000)
    return { state: 'warn', code: 'silence', text: `What the stream carries has been silence for ${seconds} s.` }
  }
  return { state: 'ok', code: null, text: volume_db === 0 ? 'As loud as it was sent.' : `At ${volume_db} dB.` }
}

/** A pause between two pieces is no trouble. */
const SILENCE_TOLD_MS = 15_000

function outputJudgement({ output }: DecoderFacts): Judgement {
  const { kind, isPlaying, fault, underrunsPerMinute, skippedMsPerMinute } = output
  const name = OUTPUTS[kind](output.name)
  if (fault !== null) return { state: 'fault', code: fault.code, text: fault.message }
  if (!isPlaying) return { state: 'not_judged', code: null, text: `${name} is being opened.` }
  if (skippedMsPerMinute > 0) {
    const text = `This board stood still: ${durationText(skippedMsPerMinute)} of sound were left out in the last minute.`
    return { state: 'warn', code: 'held_up', text }
  }
  if (underrunsPerMinute > 0) {
    const times = underrunsPerMinute === 1 ? 'once' : `${underrunsPerMinute} times`
    return { state: 'warn', code: 'underruns', text: `${name} ran empty ${times} in the last minute.` }
  }
  return { state: 'ok', code: null, text: `${name} plays.` }
}

const OUTPUTS = {
  null: () => 'The output that plays to nobody',
  file: (name: string) => `The recording to ${name}`,
  alsa: (name: string) => `The sound card ${name}`,
} as const
