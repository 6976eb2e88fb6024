/** An encoder: is sound going out, and can others trust its clock. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { chain, factTable } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lazy } from '#kit/web/lazy.ts'
import { channelNames, Meters } from '#kit/web/mixer.ts'
import { age, count, fixed, sinceText, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, icon, type Lit, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { api, type EncoderState } from './api.ts'
import { ClockPanel } from './own-sound.ts'
import { formatText, groupText, isBroken, linksOf, msOfUs, refClockWords } from './sound-words.ts'
import { levels, lookNow, status } from './state.ts'
import * as texts from './texts.ts'
import { litOf } from './words.ts'

const HeardBy = lazy(async () => (await import('./heard-by.ts')).HeardBy)
const EncoderPlots = lazy(async () => (await import('./sound-plots.ts')).EncoderPlots)

/** The page. */
export function EncoderPage(): VNode | null {
  const known = status.value
  if (!known?.encoder) return null
  const { verdict: judged, encoder } = known
  return html`<h1 class="sr">Encoder</h1>${verdict({ lit: litOf(judged.state), sentence: judged.text })}
    <section class="panel" aria-label="From input to network"><div class="in">${chain(linksOf(encoder.checks), isBroken(encoder.checks))}</div></section>
    <div class="cols sound"><div class="stack">${inputPanel(encoder)}<${EncoderPlots} /></div>
    <div class="stack"><${Stream} encoder=${encoder} /><${HeardBy} stream=${encoder.stream} />${known.ptp ? html`<${ClockPanel} ptp=${known.ptp} />` : null}${counted(encoder)}</div></div>`
}

function inputPanel({ source, meters, silence_s: silence }: EncoderState): VNode {
  const names = channelNames(meters?.peak_db.length ?? 0)
  const bars =
    names.length > 0 ? html`<${Meters} names=${names} levels=${levels} />` : say('off', texts.noInput, source.name)
  const quiet =
    silence !== null && silence >= 1 ? html`<p class="small soft">Silent for ${age(silence * 1000)}.</p>` : null
  return html`<section class="panel" aria-label="Input"><header><h2>Input</h2><span class="faint">${source.name}</span><span class="faint later">dBFS, peak held</span></header>
    <div class="in stack">${bars}${quiet}</div></section>`
}

/** The level sent, and its two controls. */
function Stream({ encoder }: { encoder: EncoderState }): VNode {
  const { stream, announced, tone_until: toneUntil } = encoder
  const [isBusy, setBusy] = useState(false)
  const isTone = toneUntil !== null && toneUntil > daemonNow()
  const copy = (): void => void copyText(announced.sdp, texts.sdpIsCopied)
  async function tone(): Promise<void> {
    setBusy(true)
    try {
      await api.tone(!isTone)
      toast(isTone ? texts.inputGoesOutAgain : texts.toneGoesOut)
      await lookNow()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  useKeys(texts.encoder, [
    { key: 's', what: texts.copiesSdp, run: copy as () => undefined },
    { key: 't', what: texts.sendsToneAndInputAgain, run: () => (isBusy ? false : void tone()) },
  ])
  const toneWords = isTone ? texts.stopTone(age(Math.max(1000, (toneUntil ?? 0) - daemonNow()), 1)) : texts.sendTone
  return html`<section class="panel" aria-label="Stream"><header><h2>Stream</h2><span class="faint">${stream.name}</span></header>${factTable(
    [
      [texts.group, html`<span class="mono">${groupText(stream)}</span>`],
      [texts.format, texts.n48Khz(formatText(stream), THIN)],
      [texts.packets, texts.msType(stream.packet_ms, THIN, stream.payload_type)],
      [texts.clock, refClockWords(stream.refclk)],
      [texts.dscpTtl, `${stream.dscp}, ${stream.ttl}`],
      [texts.announced, announcedText(encoder)],
    ],
  )}<div class="in acts start"><button class="btn" type="button" onClick=${copy}>${icon('copy')}Copy SDP <kbd>s</kbd></button>
    <${Act} pressed=${isTone} waits=${isBusy} run=${() => void tone()}>${toneWords} <kbd>t</kbd></${Act}></div></section>`
}

function announcedText({ announced: { sap, last_at: lastAt, rtsp } }: EncoderState): Child {
  const way = (lit: Lit, words: string): VNode => html`<span class="way">${lamp(lit)}${words}</span>`
  const when = lastAt === null ? '' : `, ${sinceText(lastAt, daemonNow(), zone.value)}`
  return html`${way(sap ? 'ok' : 'off', sap ? texts.bySap(when) : texts.notBySap)} ${way(rtsp ? 'ok' : 'off', rtsp ? texts.rtsp : texts.notByRtsp)}`
}

function counted({ sent, capture_ms: captureMs, realtime }: EncoderState): VNode {
  const unit = (text: string): string => (text === UNKNOWN ? text : `${text}${THIN}ms`)
  return html`<section class="panel" aria-label="Counted"><header><h2>Counted</h2></header>${factTable(
    [
      [texts.packets, count(sent.packets)],
      [texts.notSent, count(sent.errors)],
      [texts.restartsAfterJump, count(sent.resyncs)],
      [texts.spacing99, unit(msOfUs(sent.spacing_us?.p99))],
      [texts.spacingWorst, unit(msOfUs(sent.spacing_us?.max))],
      [texts.latencyOfInput, unit(fixed(captureMs, 1))],
    ],
    'tight',
  )}${realtime ? html`<p class="foot small faint">${realtime.text}</p>` : null}</section>`
}
