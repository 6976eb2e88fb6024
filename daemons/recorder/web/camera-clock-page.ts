/** The clock of one camera: what it shows against the recorder's, setting it, and what was written to the camera. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked } from '#kit/web/asked.ts'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { factTable } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, fixed, sinceText, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, type Judgement, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { type Camera, type CameraWrite, type ClockSet, type ClockState, clockApi } from './api.ts'
import * as texts from './texts.ts'

/** Each look asks the camera. */
const LOOK_MS = 5000
/** As `clocks.right_s` is from the start. */
const RIGHT_S = 2
/** Beyond, tenths say nothing. */
const TENTHS_S = 60

/** The page. */
export function CameraClockPage({ camera: { id, name, onvif } }: { camera: Camera }): VNode {
  const back = html`<a class="btn" href=${linkTo('camera', id)}>Back to the camera</a>`
  const head = html`<div class="head"><h1>${texts.clockOf(name)}</h1><div class="acts">${back}</div></div>`
  if (!onvif)
    return html`${head}<section class="panel">${say('off', texts.clockIsOutOfReach, texts.addOverOnvif)}</section>`
  return html`${head}<${Reachable} id=${id} name=${name} />`
}

function Reachable({ id, name }: Pick<Camera, 'id' | 'name'>): VNode {
  const [state, setState] = useState<ClockState | null>(null)
  const [writes, setWrites] = useState<CameraWrite[]>([])
  const [isBusy, setBusy] = useState(false)
  const [result, setResult] = useState<ClockSet | string | null>(null)
  const { again, refused } = useLook(async () => {
    setWrites(await clockApi.writes(id))
    // Meanwhile it is being read already.
    if (!isBusy) setState(await clockApi.ofCamera(id))
  }, LOOK_MS)
  async function set(switchToManual: boolean): Promise<void> {
    setBusy(true)
    setResult(null)
    try {
      const set = await clockApi.setCamera(id, switchToManual)
      setResult(set)
      toast(set.verified ? texts.cameraClockIsSet(name) : texts.cameraClockIsNotRight(name))
    } catch (thrown) {
      setResult(sentenceOf(thrown))
    } finally {
      setBusy(false)
      await again()
    }
  }
  const judged =
    refused === null
      ? state && judgeCameraClock(state)
      : { lit: 'fault' as const, sentence: texts.cameraClockNotRead, why: refused }
  return html`${judged ? verdict(judged) : html`<section class="panel">${firstAnswer(null, texts.askingCameraClock, texts.cameraClockNotRead)}</section>`}
    <section class="panel" aria-label="Clock"><header><h2 class="grow">Clock</h2></header>
      ${state ? factTable(factsOf(state)) : null}
      ${typeof result === 'string' ? html`<p class="in refusal" role="alert" data-s="fault">${lamp('fault')}<span>${result}</span></p>` : null}
      <footer class="save"><${Asked} kind="quiet apart" act=${texts.switchToManual} title=${texts.manualQuestion(name)} text=${texts.manualMeans} sure="Switch to manual time" keep="Leave it" run=${() => void set(true)} />
        <${Act} kind="primary" waits=${isBusy} run=${() => void set(false)}>${isBusy ? texts.settingClock : texts.setTheClock}</${Act}></footer></section>
    ${result !== null && typeof result !== 'string' ? html`<section class="panel" aria-label="What came of it"><header><h2>What came of it</h2></header>${factTable(resultOf(result))}</section>` : null}
    <section class="panel" aria-label="Written to the camera"><header><h2>Written to the camera</h2></header>${writesTable(writes)}</section>`
}

/** `0.4 s ahead`, `1 h 2 min behind`. */
export function driftText(seconds: number): string {
  const size = Math.abs(seconds)
  const text = size < TENTHS_S ? `${fixed(size, 1)}${THIN}s` : age(size * 1000)
  return seconds === 0 ? texts.noDrift : seconds > 0 ? texts.ahead(text) : texts.behind(text)
}

export function judgeCameraClock({ dateTimeType, driftSeconds }: ClockState): Judgement {
  if (Math.abs(driftSeconds) <= RIGHT_S) return { lit: 'ok', sentence: texts.clockIsRight }
  const why = dateTimeType === 'NTP' ? texts.serverIsWrong : texts.setRemedy
  return { lit: 'warn', sentence: texts.cameraClockIsOff(driftText(driftSeconds)), why }
}

/** `UTC+01:00`. */
export function offsetText(minutes: number | null): string {
  if (minutes === null) return UNKNOWN
  const two = (value: number) => String(value).padStart(2, '0')
  const size = Math.abs(minutes)
  return `UTC${minutes < 0 ? '−' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

const SOURCES = { NTP: texts.fromServer, Manual: texts.byHand } as const

function factsOf({ dateTimeType, driftSeconds, offsetMinutes }: ClockState): [string, Child][] {
  return [
    [texts.againstRecorder, driftText(driftSeconds)],
    [texts.localTime, offsetText(offsetMinutes)],
    [texts.timeSource, SOURCES[dateTimeType]],
  ]
}

function resultOf(result: ClockSet): [string, Child][] {
  const { ntpError, ntpKept, ntpServerSet, timeZoneBefore, timeZoneSet, zoneVerified } = result
  const zoneText = timeZoneSet === null ? texts.zoneKept(timeZoneBefore ?? UNKNOWN) : timeZoneSet
  return [
    [texts.before, driftText(result.driftBeforeSeconds)],
    [texts.afterwards, `${driftText(result.driftAfterSeconds)}${result.verified ? '' : texts.notVerified}`],
    [texts.timeZone, `${zoneText}${zoneVerified === false ? texts.notVerified : ''}`],
    [texts.timeSource, SOURCES[result.dateTimeTypeSet]],
    [texts.timeServer, ntpServerSet ?? ntpError ?? (ntpKept ? texts.serverIsKept : UNKNOWN)],
  ]
}

function writesTable(writes: readonly CameraWrite[]): Child {
  if (writes.length === 0) return say('off', texts.nothingWritten, texts.writtenHere)
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Written to the camera"><table class="table"><thead><tr><th>When</th><th>What</th><th>By whom</th><th>What came of it</th></tr></thead>
    <tbody>${writes.map(
      ({ at, detail, operation, performed_by: by }) =>
        html`<tr key=${at}><td>${sinceText(at, daemonNow(), zone.value)}</td><td>${texts.operations[operation] ?? operation}</td><td>${by ?? texts.byItself}</td><td style=${{ whiteSpace: 'normal' }}>${outcomeOf(detail)}</td></tr>`,
    )}</tbody></table></div>`
}

export function outcomeOf({ driftAfterSeconds, error, presetName, seconds, verified }: CameraWrite['detail']): string {
  if (typeof error === 'string') return error
  if (typeof presetName === 'string') return presetName
  if (typeof seconds === 'number') return texts.turnedFor(`${fixed(seconds, 1)}${THIN}s`)
  if (driftAfterSeconds === undefined) return UNKNOWN
  return `${driftText(Number(driftAfterSeconds))}${verified === true ? '' : texts.notVerified}`
}
