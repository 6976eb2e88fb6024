/** A decoder: is it playing, and if not, why. */
import type { VNode } from 'preact'
import { Act } from '#kit/web/button.ts'
import { chain } from '#kit/web/chain.ts'
import { Fader } from '#kit/web/fader.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { useKeys } from '#kit/web/keys.ts'
import { say, verdict } from '#kit/web/lamp.ts'
import { lazy } from '#kit/web/lazy.ts'
import { channelNames, Meters } from '#kit/web/meters.ts'
import { count, fixed, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { readTable } from '#kit/web/read-table.ts'
import { ClockPanel } from './clock-panel.ts'
import { playRoute } from './play.ts'
import type { DecoderState } from './sound.ts'
import { isBroken, linksOf, msOfUs, signed, volumeText } from './sound-words.ts'
import { levels, status } from './state.ts'
import { StreamsPanel } from './streams-panel.ts'
import { useVolume, type Volume } from './volume.ts'
import { litOf } from './words.ts'

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

/** What comes out, and how loud. */
function Output({ decoder }: { decoder: DecoderState }): VNode {
  const volume = useVolume(decoder.volume)
  useDecoderKeys(decoder, volume)
  const { shown, slide, step, mute } = volume
  const names = channelNames(decoder.meters?.peak_db.length ?? 0)
  const text = shown.volume === 0 ? 'silent' : `${volumeText(shown)} dB`
  const output = html`<b class="value">${volumeText(shown)}</b> <span class="unit">${shown.volume === 0 ? '' : `dB · `}${shown.volume}${THIN}%</span>`
  const bars =
    names.length > 0
      ? html`<${Meters} names=${names} levels=${levels} />`
      : say('off', 'No channel plays', decoder.output.name)
  return html`<section class="panel" aria-label="Output"><header><h2>Output</h2><span class="faint">dBFS, peak held</span>
      <div class="acts"><${Act} pressed=${shown.mute} run=${mute}>${icon('mute')}${shown.mute ? 'Muted' : 'Mute'} <kbd>m</kbd></${Act}></div></header>
    <div class="in stack">${bars}<${Fader} label="Volume" value=${shown.volume} text=${text} output=${output} slide=${slide} step=${step} /></div></section>`
}

function useDecoderKeys({ route }: DecoderState, { step, mute }: Volume): void {
  useKeys('Decoder', [
    { key: 'ArrowUp', what: '1 dB up', run: () => void step(1) },
    { key: 'ArrowDown', what: '1 dB down', run: () => void step(-1) },
    { key: 'm', what: 'mutes, and plays again', run: () => void mute() },
    { key: 'p', what: 'to the streams; Enter plays one', run: focusStreams },
    {
      key: '.',
      what: 'stops',
      run: () => (route.mcast === '' ? false : void playRoute({ mcast: '' }, route, 'Nothing is played now.')),
    },
  ])
}

function focusStreams(): boolean {
  const first = document.querySelector<HTMLElement>('.streams button')
  first?.focus()
  return first !== null
}

/** Counters in the order in which they are asked for. */
const COUNTED = {
  packets: 'Packets',
  lost: 'Lost',
  concealed: 'Concealed',
  late: 'Late',
  reordered: 'Reordered',
  duplicate: 'Duplicate',
  glitches: 'Glitches',
  wrong_source: 'From other senders',
  wrong_format: 'In another format',
  wild: 'With timestamps out of all order',
  malformed: 'Malformed',
} as const

function counted({ counters, arrival, output }: DecoderState): VNode {
  const unit = (text: string, name: string): string => (text === UNKNOWN ? text : `${text}${THIN}${name}`)
  const rows = Object.entries(COUNTED).map(
    ([name, label]) => [label, count(counters[name as keyof typeof COUNTED])] as const,
  )
  return html`<section class="panel" aria-label="Counted"><header><h2>Counted</h2><span class="faint">since the board started</span></header>${readTable(
    [
      ...rows,
      ['Jitter, 99 %', unit(msOfUs(arrival?.jitter_p99_us), 'ms')],
      ['Jitter, worst', unit(msOfUs(arrival?.jitter_max_us), 'ms')],
      ['Latency of the card', unit(fixed(output.latency_ms, 1), 'ms')],
      ['Drift of the card', unit(signed(output.drift_ppm, 2), 'ppm')],
    ],
    'tight',
  )}</section>`
}
