/** The links of the chain that are about the stream: chosen, arriving, from the right sender, as expected, whole. */
import type { Judgement } from '../../../core/sound/sound.ts'
import { SAMPLE_BYTES } from '../../../wire/streams/description.ts'
import type { DecoderFacts, ReceptionFacts } from './decoder-facts.ts'
import type { Tuning } from './ports.ts'

/** A group and its port, as people write them. */
export function placeOf({ mcast, port }: { mcast: string; port: number }): string {
  return `${mcast}:${port}`
}

export function streamJudgement({ route, announcement, announced }: DecoderFacts): Judgement {
  if (route.mcast === '') return { state: 'off', code: 'stopped', text: 'No stream is chosen.' }
  if (announcement !== null) {
    const { name, source } = announcement
    return { state: 'ok', code: null, text: `${nameOr(name, placeOf(route))} is announced by ${source}.` }
  }
  if (announced.length > 1) {
    const text = `${announced.length} senders announce ${placeOf(route)}: the first that is heard is played.`
    return { state: 'ok', code: 'announced_twice', text }
  }
  const [other] = announced
  if (other !== undefined) {
    const text = `${other.source} announces ${placeOf(route)}, and this route plays another sender.`
    return { state: 'ok', code: 'other_announced', text }
  }
  return { state: 'ok', code: 'not_announced', text: `Nobody announces ${placeOf(route)}; it is played as it comes.` }
}

export function packetsJudgement({ route, reception, tuning, tuningFault }: DecoderFacts): Judgement {
  if (tuningFault !== null) return { state: 'fault', code: tuningFault.code, text: tuningFault.message }
  const { silentMs, senderGoneMs, hasHeard, otherAgeMs, formatAgeMs } = reception
  const comes = (ageMs: number | null) => ageMs !== null && ageMs < senderGoneMs
  const lonely = silentMs < senderGoneMs && hasHeard ? silentPath(reception, tuning) : undefined
  if (lonely !== undefined) return { state: 'warn', code: 'one_path', text: lonely }
  // What comes from others, or does not fit, comes: the next links have that to say.
  if (silentMs < senderGoneMs ? hasHeard : comes(otherAgeMs) || comes(formatAgeMs))
    return { state: 'ok', code: null, text: arriving(reception.packetMs, reception.channels) }
  if (comes(otherAgeMs) || comes(formatAgeMs)) return { state: 'ok', code: null, text: 'Packets arrive.' }
  if (silentMs < senderGoneMs)
    return { state: 'not_judged', code: null, text: `The first packet of ${placeOf(route)} is awaited.` }
  const seconds = seconds1(silentMs)
  const text = hasHeard
    ? `No packet has come to ${placeOf(route)} for ${seconds} s: the sender has stopped, or the network does not carry it.`
    : `No packet comes to ${placeOf(route)}, for ${seconds} s now: nobody sends, or a switch does not pass multicast on.`
  return { state: 'fault', code: 'no_packets', text }
}

/** Of two paths the one that brings nothing: who has two wants to know before the other one goes as well. */
function silentPath({ pathsSilentMs, senderGoneMs }: ReceptionFacts, tuning: Tuning | null): string | undefined {
  const at = pathsSilentMs.findIndex((ms) => ms >= senderGoneMs)
  const path = tuning?.paths[at]
  if (path === undefined || pathsSilentMs.length < 2) return undefined
  const place = placeOf({ mcast: path.group, port: path.port })
  return `Nothing comes to ${place}, for ${seconds1(pathsSilentMs[at] ?? 0)} s now: the other path carries the sound alone.`
}

export function senderJudgement({ announced, reception, route, tuning }: DecoderFacts): Judgement {
  const { sender, otherAddress: other, otherAgeMs, silentMs, senderGoneMs } = reception
  const wanted = tuning?.paths.find(({ group, port }) => group === route.mcast && port === route.port)?.source ?? null
  const isOtherHere = otherAgeMs !== null && otherAgeMs < senderGoneMs && other !== null
  if (silentMs >= senderGoneMs && isOtherHere) {
    const why = route.source === null ? `its announcement names ${wanted}` : `this route wants ${wanted}`
    const two = announced.length > 1 || sender !== null ? ` Two encoders use ${route.mcast}.` : ''
    return { state: 'fault', code: 'wrong_source', text: `Packets arrive from ${other}; ${why}.${two}` }
  }
  if (isOtherHere && reception.isOtherHeard) {
    const text = `${other} sends more than one stream to ${route.mcast}: one is played, the rest is left out.`
    return { state: 'warn', code: 'two_senders', text }
  }
  if (isOtherHere) {
    const text = `${sender ?? wanted} is played; ${other} sends to ${route.mcast} as well, and is left out.`
    return { state: 'warn', code: 'two_senders', text }
  }
  const why =
    route.source !== null ? 'as this route wants' : wanted === null ? 'the first that was heard' : 'as announced'
  return { state: 'ok', code: null, text: sender === null ? 'Packets arrive.' : `${sender} sends, ${why}.` }
}

export function formatJudgement({ announcement, broken, reception, tuning }: DecoderFacts): Judgement {
  if (announcement !== null && announcement.not_playable !== null)
    return { state: 'fault', code: 'wrong_encoding', text: announcement.not_playable }
  if (broken === 'wrong_encoding') {
    const text = `This route plays ${tuning?.encoding}; ${announcement?.source} announces ${announcement?.encoding}.`
    return { state: 'fault', code: 'wrong_encoding', text }
  }
  const { channels, formatAgeMs, packetMs, senderGoneMs, soundlessMs } = reception
  const doesNotFit = formatAgeMs !== null && formatAgeMs < senderGoneMs
  if (doesNotFit && soundlessMs >= senderGoneMs) {
    const text = `${misfitText(reception.frameBytes, tuning)} Nothing of it is played.`
    return { state: 'fault', code: 'wrong_encoding', text }
  }
  if (doesNotFit) return { state: 'warn', code: 'odd_packets', text: 'Some packets do not fit, and are left out.' }
  const told = channels === null ? '' : ` with ${channels} ${channels === 1 ? 'channel' : 'channels'}`
  return {
    state: 'ok',
    code: null,
    text: `${tuning?.encoding}${told}${packetMs === null ? '' : `, ${packetMs} ms a packet`}.`,
  }
}

/** Loss that is told as trouble, and loss that leaves nothing to listen to, in percent of the last minute. */
const TOLD_PERCENT = 0.1
const SILENT_PERCENT = 50

export function lossJudgement({ reception }: DecoderFacts): Judgement {
  const { lateLastMinute, lossPercent1Min, linkMs } = reception
  if (lossPercent1Min === null) return { state: 'ok', code: null, text: 'Nothing was lost in the last minute.' }
  const percent = lossPercent1Min < 0.01 ? lossPercent1Min.toFixed(3) : lossPercent1Min.toFixed(2)
  if (lossPercent1Min < TOLD_PERCENT) {
    const text =
      lossPercent1Min === 0 ? 'Nothing was lost in the last minute.' : `${percent} % was missing in the last minute.`
    return { state: 'ok', code: null, text }
  }
  const late = `${lateLastMinute} packets came later than the link offset of ${linkMs} ms allows: raise it.`
  const text = `${percent} % was missing in the last minute.${lateLastMinute > 0 ? ` ${late}` : ''}`
  const code = lateLastMinute > 0 ? 'late' : 'loss'
  return { state: lossPercent1Min >= SILENT_PERCENT ? 'fault' : 'warn', code, text }
}

/** A name is a stranger's text: a blank one is none. */
export function nameOr(name: string, other: string): string {
  return name.trim() === '' ? other : name
}

function arriving(packetMs: number | null, channels: number | null): string {
  if (packetMs === null || channels === null) return 'Packets arrive.'
  return `${Math.round(1000 / packetMs)} packets a second arrive.`
}

function misfitText(frameBytes: number | null, tuning: DecoderFacts['tuning']): string {
  if (tuning === null || tuning.channels === 0) return 'Packets come that are neither L24 nor L16.'
  const bytes = SAMPLE_BYTES[tuning.encoding] * tuning.channels
  const wanted = `${tuning.encoding} with ${tuning.channels} channels`
  if (frameBytes === null || frameBytes === bytes) return `Packets come that are not ${wanted}, as was announced.`
  return `Packets carry ${frameBytes} bytes for each sample of all channels; ${wanted} has ${bytes}.`
}

function seconds1(ms: number): string {
  return String(Math.max(1, Math.round(ms / 1000)))
}
