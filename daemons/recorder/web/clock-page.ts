/** The clock of the recorder's machine: its zone, network time or a time that is set by hand, and who looks after clocks of cameras. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { type FigureFacts, figures } from '#kit/web/figures.ts'
import { type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { dateOf, timeOf, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, type Judgement, say, toast, verdict } from '#kit/web/parts.ts'
import { clockApi, type OwnTime, type TimeWish } from './api.ts'
import * as texts from './texts.ts'

/** Each look costs the machine a program or two. */
const LOOK_MS = 5000

interface Known {
  time: OwnTime
  isSynced: boolean
}

/** The page. */
export function ClockPage(): VNode {
  const [known, setKnown] = useState<Known | null>(null)
  const { again, refused } = useLook(async () => {
    const [time, { enabled }] = await Promise.all([clockApi.own(), clockApi.sync()])
    setKnown({ time, isSynced: enabled })
  }, LOOK_MS)
  if (known === null)
    return html`<h1 class="sr">Clock</h1><section class="panel">${firstAnswer(refused, texts.askingClock, texts.clockNotRead)}</section>`
  const { isSynced, time } = known
  return html`<h1 class="sr">Clock</h1>${verdict(judgeClock(time))}${figures(figuresOf(time), 'four')}
    ${time.available ? html`<${Setting} time=${time} again=${again} key=${`${time.zone} ${time.ntp}`} />` : null}
    <section class="panel" aria-label="Clocks of cameras"><header><h2 class="grow">Clocks of cameras</h2>
      <div class="acts"><${Act} run=${() => void switchSync(!isSynced, again)}>${isSynced ? texts.leaveClocks : texts.correctClocks}</${Act}></div></header>
      ${say(isSynced ? 'ok' : 'off', isSynced ? texts.clocksAreCorrected : texts.clocksAreLeft, isSynced ? texts.correctingMeans : texts.leavingMeans)}</section>`
}

/** What cannot be set is said first, then what may be wrong. */
export function judgeClock(time: Pick<OwnTime, 'available' | 'error' | 'ntp' | 'canNtp' | 'synchronized'>): Judgement {
  if (!time.available) return { lit: 'warn', sentence: texts.clockNotSettable, ...(time.error && { why: time.error }) }
  if (time.synchronized) return { lit: 'ok', sentence: time.ntp ? texts.clockIsFetched : texts.clockIsKept }
  if (time.ntp) return { lit: 'warn', sentence: texts.networkTimeIsSilent, why: texts.networkTimeRemedy }
  return { lit: 'warn', sentence: texts.clockIsByHand, why: time.canNtp ? texts.byHandDrifts : texts.nothingFetches }
}

function figuresOf({ ntp, pinnedZone, synchronized, timeServer, timeServerError, zone: own }: OwnTime): FigureFacts[] {
  const now = daemonNow()
  return [
    { name: texts.timeNow, value: timeOf(now, own), note: dateOf(now, own) },
    { name: texts.timeZone, value: own, note: pinnedZone === null ? '' : texts.zoneIsPinned },
    {
      name: texts.networkTime,
      value: ntp === null ? UNKNOWN : ntp ? texts.isOn : texts.isOff,
      note: synchronized === null ? '' : synchronized ? texts.isFetched : texts.isNotFetched,
    },
    {
      name: texts.timeForCameras,
      value: timeServer ? texts.isGiven : texts.isNotGiven,
      note: timeServerError ?? texts.camerasAskHere,
    },
  ]
}

async function switchSync(enabled: boolean, again: () => Promise<void>): Promise<void> {
  await doneOrSaid(() => clockApi.setSync(enabled), again, enabled ? texts.clocksAreCorrected : texts.clocksAreLeft)
}

/** Only what was changed is asked for. */
export function wishOf({ isChanged, values }: Pick<Form, 'isChanged' | 'values'>): TimeWish {
  const { ntp, time, zone: wanted } = values.value
  return {
    ...(isChanged('zone') && { zone: String(wanted).trim() }),
    ...(isChanged('ntp') && { ntp: ntp === true }),
    ...(ntp !== true && String(time).trim() !== '' && { time: String(time).trim() }),
  }
}

function Setting({ time, again }: { time: OwnTime; again: () => Promise<void> }): VNode {
  const [isAsked, setAsked] = useState(false)
  const form = useForm({ zone: time.zone, ntp: time.ntp === true, time: '' }, 'edit')
  const wish = wishOf(form)
  async function save(): Promise<void> {
    await clockApi.setOwn(wish)
    form.settle({ ...form.values.value, time: '' })
    toast(texts.clockIsSet)
    if (wish.zone !== undefined) zone.value = wish.zone
    await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    if (wish.time === undefined) void form.submit(save)
    else setAsked(true)
  }
  const isIdle = form.isBusy.value || Object.keys(wish).length === 0
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="Set the clock"><header><h2>Set the clock</h2></header>
    <div class="in stack">${zoneField(form, time)}
      ${time.canNtp || time.ntp ? toggle({ form, name: 'ntp', label: texts.networkTime, hint: texts.networkTimeHint }) : html`<p class="small soft">${texts.nothingFetches}</p>`}
      ${form.values.value.ntp === true ? null : input({ form, name: 'time', label: texts.timeByHand, mono: true, placeholder: `${dateOf(daemonNow(), time.zone)} ${timeOf(daemonNow(), time.zone, 'min')}`, hint: texts.timeByHandHint })}
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${isIdle}>${texts.setClock}</${Act}></footer>
    ${isAsked ? html`<${Confirm} title=${texts.setTimeQuestion(String(wish.time))} text=${texts.settingTimeMeans} act="Set time" keep="Keep time" run=${() => void form.submit(save)} close=${() => setAsked(false)} />` : null}</form>`
}

function zoneField(form: Form, { pinnedZone, zones }: OwnTime): Child {
  if (pinnedZone !== null) return html`<p class="small soft">${texts.zonePinnedTo(pinnedZone)}</p>`
  return input({ form, name: 'zone', label: texts.timeZone, options: zones ?? [], hint: texts.timeZoneHint })
}
