/** A decoder: is it playing, and if not, why; and the streams it hears, each playable with one touch. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow } from '#kit/web/contact.ts'
import { chain, factTable } from '#kit/web/figures.ts'
import { choice, input, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { channelNames, Fader, Meters } from '#kit/web/mixer.ts'
import { age, count, fixed, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, icon, lamp, say, verdict } from '#kit/web/parts.ts'
import { filterInput, matches } from '#kit/web/tools.ts'
import type { HeardStream } from '../core/streams/book.ts'
import { api, type DecoderState, type RouteForm } from './api.ts'
import { ClockPanel, playRoute, useVolume, type Volume } from './own-sound.ts'
import { formatText, groupText, isBroken, isRouted, linksOf, msOfUs, signed, volumeText } from './sound-words.ts'
import { levels, status } from './state.ts'
import * as texts from './texts.ts'
import { litOf } from './words.ts'

// The streams that a decoder hears, each playable with one touch.

const LOOK_STREAMS_MS = 3000
/** Number shown until the user asks for all. */
const FEW = 6

/** The panel. */
function StreamsPanel({ decoder }: { decoder: DecoderState }): VNode {
  const [streams, setStreams] = useState<HeardStream[] | null>(null)
  const [filter, setFilter] = useState('')
  const [areAll, setAll] = useState(false)
  const { refused } = useLook(async () => setStreams(await api.streams()), LOOK_STREAMS_MS)
  const sorted = sortStreams(streams ?? [], decoder)
  const found = sorted.filter((stream) =>
    matches(`${stream.name} ${stream.mcast} ${stream.origin ?? ''} ${stream.source ?? ''}`, filter),
  )
  const shown = areAll ? found : found.slice(0, FEW)
  const all = sorted.length
  const more =
    all > FEW
      ? html`<${Act} kind="quiet" pressed=${areAll} run=${() => setAll(!areAll)}>${areAll ? texts.fewer : texts.all}</${Act}>`
      : null
  return html`<section class="panel streams" aria-label="Streams heard"><header><h2>Streams heard</h2><span class="faint">${all > shown.length ? `${shown.length} of ${count(all)}` : count(all)}</span><div class="acts">${more}</div></header>
    ${areAll ? html`<div class="in">${filterInput({ filter, setFilter, label: texts.findStream, placeholder: texts.findStream, isFirst: true })}</div>` : null}
    ${list(shown, { streams, refused, decoder })}<${ByAddress} decoder=${decoder} /></section>`
}

/** The stream that plays first, then by name; streams that cannot be played last. */
export function sortStreams(streams: readonly HeardStream[], { route, sender }: DecoderState): HeardStream[] {
  const rank = (stream: HeardStream): number =>
    isRouted(stream, route, sender) ? 0 : stream.not_playable === null ? 1 : 2
  return streams.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name) || a.id.localeCompare(b.id))
}

interface ListFacts {
  streams: readonly HeardStream[] | null
  refused: string | null
  decoder: DecoderState
}

function list(shown: readonly HeardStream[], { streams, refused, decoder }: ListFacts): Child {
  if (streams === null) return firstAnswer(refused, texts.askingBoardWhichStreamsHears, texts.streamsCouldNotBeRead)
  if (streams.length === 0) return say('off', texts.noStreamsHeard(forText()), texts.encodersAnnounce)
  if (shown.length === 0) return say('off', texts.noStreamMatches, texts.areHidden(count(streams.length)))
  return html`<table class="table"><tbody>${shown.map((stream) => row(stream, decoder, streams))}</tbody></table>`
}

/** How long it has been able to hear streams. */
function forText(): string {
  const started = status.value?.started_at
  return started === undefined ? '' : ` in ${age(Math.min(600_000, Math.max(1000, daemonNow() - started)))}`
}

function row(stream: HeardStream, { route, sender, playing }: DecoderState, all: readonly HeardStream[]): VNode {
  const why = stream.not_playable
  const isHere = isRouted(stream, route, sender)
  const from = stream.origin || stream.source
  const under = why ?? [from, formatText(stream), groupText(stream)].filter(Boolean).join(' · ')
  const play = (): void => void playRoute(tuneFormFor(stream, all), route, texts.decoderNowPlays(stream.name))
  const act = isHere
    ? html`<${Act} kind="quiet" label=${texts.stop(stream.name)} run=${() => void playRoute({ mcast: '' }, route, texts.isStopped(stream.name))}>Stop</${Act}>`
    : html`<${Act} label=${texts.play(stream.name)} run=${play}>Play</${Act}>`
  const lit = isHere ? (playing ? 'ok' : 'fault') : why ? 'warn' : 'off'
  const spoken = isHere
    ? playing
      ? texts.playing
      : texts.routedNotPlaying
    : why
      ? texts.cannotBePlayed
      : texts.notPlayed
  return html`<tr key=${stream.id}><td class="lit">${lamp(lit, spoken)}</td><td class="name"><b>${stream.name || groupText(stream)}</b><span class="under">${under}</span></td>
    <td class="n">${why ? html`<span class="faint">–</span>` : act}</td></tr>`
}

/** Names the sender only if several use the address; else the board finds it by itself, even after it was replaced. */
export function tuneFormFor(stream: HeardStream, all: readonly HeardStream[]): RouteForm {
  const { mcast, port, source } = stream
  const isShared = all.some((other) => other.mcast === mcast && other.port === port && other.source !== source)
  return { mcast, port, ...(isShared && source !== null ? { source } : {}) }
}

/** Form for a stream that nobody announces. */
function ByAddress({ decoder }: { decoder: DecoderState }): VNode {
  const form = useForm({ mcast: '', port: '5004', source: '', encoding: '' })
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    await form.submit(async () => {
      const { mcast, port, source, encoding } = form.values.value
      if (String(mcast).trim() === '') return
      await api.route({ mcast: String(mcast), port: Number(port), source: String(source), encoding: String(encoding) })
    })
  }
  const encodings = [
    ['', texts.asAnnouncedElseL24],
    ['L24', 'L24'],
    ['L16', 'L16'],
  ] as const
  return html`<details class="by-address"><summary>Play by address</summary><form onSubmit=${(event: Event) => void submit(event)} novalidate><div class="form">
    ${input({ form, name: 'mcast', label: texts.group, placeholder: decoder.route.mcast || '239.69.10.4', mono: true })}
    ${input({ form, name: 'port', label: texts.port, type: 'number' })}
    ${input({ form, name: 'source', label: texts.sender, placeholder: texts.any, mono: true })}
    ${choice({ form, name: 'encoding', label: texts.encoding, options: encodings })}</div>
    ${refusal(form)}<div class="end"><${Act} type="submit" waits=${form.isBusy.value || form.values.value.mcast === ''}>Play</${Act}></div></form></details>`
}

// The page.

const DecoderPlots = lazy(async () => (await import('./sound-plots.ts')).DecoderPlots)

/** The page. */
export function DecoderPage(): VNode | null {
  const known = status.value
  if (!known?.decoder) return null
  const { verdict: judged, decoder } = known
  return html`<h1 class="sr">Decoder</h1>${verdict({ lit: litOf(judged.state), sentence: judged.text })}
    <section class="panel" aria-label="From source to loudspeaker"><div class="in">${chain(linksOf(decoder.checks), isBroken(decoder.checks))}</div></section>
    <div class="cols sound"><div class="stack"><${Output} decoder=${decoder} /><${DecoderPlots} /></div>
    <div class="stack"><${StreamsPanel} decoder=${decoder} />${known.ptp ? html`<${ClockPanel} ptp=${known.ptp} />` : null}${counted(decoder)}</div></div>`
}

/** The output level and the volume. */
function Output({ decoder }: { decoder: DecoderState }): VNode {
  const volume = useVolume(decoder.volume)
  useDecoderKeys(decoder, volume)
  const { shown, slide, step, mute } = volume
  const names = channelNames(decoder.meters?.peak_db.length ?? 0)
  const text = shown.volume === 0 ? texts.silent : texts.db(volumeText(shown))
  const output = html`<b class="value">${volumeText(shown)}</b> <span class="unit">${shown.volume === 0 ? '' : texts.decoderDb}${shown.volume}${THIN}%</span>`
  const bars =
    names.length > 0
      ? html`<${Meters} names=${names} levels=${levels} />`
      : say('off', texts.noChannelPlays, decoder.output.name)
  return html`<section class="panel" aria-label="Output"><header><h2>Output</h2><span class="faint">dBFS, peak held</span>
      <div class="acts"><${Act} pressed=${shown.mute} run=${mute}>${icon('mute')}${shown.mute ? texts.muted : texts.routingMute} <kbd>m</kbd></${Act}></div></header>
    <div class="in stack">${bars}<${Fader} label="Volume" value=${shown.volume} text=${text} output=${output} slide=${slide} step=${step} /></div></section>`
}

function useDecoderKeys({ route }: DecoderState, { step, mute }: Volume): void {
  useKeys(texts.decoder, [
    { key: 'ArrowUp', what: texts.n1DbUp, run: () => void step(1) },
    { key: 'ArrowDown', what: texts.n1DbDown, run: () => void step(-1) },
    { key: 'm', what: texts.mutesAndPlaysAgain, run: () => void mute() },
    { key: 'p', what: texts.toStreamsEnterPlays, run: focusStreams },
    {
      key: '.',
      what: texts.stops,
      run: () => (route.mcast === '' ? false : void playRoute({ mcast: '' }, route, texts.nothingIsPlayedNow)),
    },
  ])
}

function focusStreams(): boolean {
  const first = document.querySelector<HTMLElement>('.streams button')
  first?.focus()
  return first !== null
}

/** Counters in the order of their relevance. */
const COUNTED = {
  packets: texts.packets,
  lost: texts.lost,
  concealed: texts.concealed,
  late: texts.late,
  reordered: texts.reordered,
  duplicate: texts.duplicate,
  glitches: texts.glitches,
  wrong_source: texts.fromOtherSenders,
  wrong_format: texts.inAnotherFormat,
  wild: texts.wildTimestamps,
  malformed: texts.malformed,
} as const

function counted({ counters, arrival, output }: DecoderState): VNode {
  const unit = (text: string, name: string): string => (text === UNKNOWN ? text : `${text}${THIN}${name}`)
  const rows = Object.entries(COUNTED).map(
    ([name, label]) => [label, count(counters[name as keyof typeof COUNTED])] as const,
  )
  return html`<section class="panel" aria-label="Counted"><header><h2>Counted</h2><span class="faint">since the board started</span></header>${factTable(
    [
      ...rows,
      [texts.jitter99, unit(msOfUs(arrival?.jitter_p99_us), 'ms')],
      [texts.jitterWorst, unit(msOfUs(arrival?.jitter_max_us), 'ms')],
      [texts.latencyOfCard, unit(fixed(output.latency_ms, 1), 'ms')],
      [texts.driftOfCard, unit(signed(output.drift_ppm, 2), 'ppm')],
    ],
    'tight',
  )}</section>`
}
