/**
 * System: the health of this box (addresses, time, temperature), its password, and actions on the whole board; and the
 * page of a role without sound.
 */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { aheadMs, daemonNow, zone } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { type FigureFacts, factTable, figures } from '#kit/web/figures.ts'
import { input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lazy } from '#kit/web/lazy.ts'
import { age, bytesText, dateOf, fixed, many, sinceText, timeOf, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, type Judgement, say, toast, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { api, changePassword, type Status } from './api.ts'
import { awaitRestart, lookNow, status } from './state.ts'
import * as texts from './texts.ts'
import { litOf, roleTitles, startReason } from './words.ts'

// The live page of a role without a page of its own in this version: the verdict says why.

/** The page. */
export function SilentPage(): VNode | null {
  const known = status.value
  if (!known) return null
  const { state, text } = known.verdict
  const act = html`<a class="btn" href=${linkTo('settings')}>Settings</a>`
  return html`<h1 class="sr">${roleTitles[known.role]}</h1>${verdict({ lit: litOf(state), sentence: text })}
    <section class="panel">${say('off', texts.nothingToShowInRole, texts.silentRoleText, act)}</section>`
}

// The password of the board: set, changed, removed.

/** The panel. @param isFirst focuses the field, if the user came here to set a password */
function PasswordPart({ isSet, isFirst }: { isSet: boolean; isFirst: boolean }): VNode {
  const form = useForm({ password: '', isShown: false })
  const [isRemoving, setRemoving] = useState(false)

  async function save(): Promise<void> {
    const password = String(form.values.value.password)
    if (password === '') throw new Error(texts.typeNewPasswordFirst)
    await changePassword(password, () => api.setPassword(password))
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (!(await form.submit(save))) return
    form.settle({ password: '', isShown: false })
    toast(texts.passwordIsSetUserName)
    await lookNow()
  }
  async function remove(): Promise<void> {
    try {
      await changePassword('', () => api.setPassword(''))
      toast(texts.passwordIsRemoved)
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await lookNow()
  }
  const type = form.values.value.isShown === true ? 'text' : 'password'
  return html`<form class="panel" aria-label="Password" onSubmit=${(event: Event) => void submit(event)} novalidate><header><h2>Password</h2>
      <span class="faint">${isSet ? texts.setForUserAdmin : texts.noPassword}</span></header>
    <div class="in stack">${input({ form, name: 'password', label: isSet ? texts.newPassword : texts.password, type, autocomplete: 'new-password', first: isFirst, kind: 'wide', hint: isSet ? texts.passwordReplaces : texts.noPasswordMeans })}
      ${toggle({ form, name: 'isShown', label: texts.showPassword })}${refusal(form)}</div>
    <footer class="save">${isSet ? html`<button class="btn apart" type="button" onClick=${() => setRemoving(true)}>Remove password</button>` : html`<span class="grow"></span>`}
      <${Act} type="submit" waits=${form.isBusy.value || form.values.value.password === ''}>${isSet ? texts.changePassword : texts.setPassword}</${Act}></footer>
    ${
      isRemoving
        ? html`<${Confirm} title="Remove the password?" text="Everybody on this network can then see and change this board, and its pages say so in amber." act="Remove password" keep="Keep password"
            close=${() => setRemoving(false)} run=${() => void remove()} />`
        : null
    }</form>`
}

// The page.

const TypeToConfirm = lazy(async () => (await import('#kit/web/type-to-confirm.ts')).TypeToConfirm)

/** If browser and board differ by more than this, they disagree on the time. */
const CLOCK_APART_MS = 5000
/** Small boards throttle from here on. */
const HOT_C = 75
/** Below this share of free memory it is short of memory. */
const LEAST_FREE = 0.05
/** Assumed if the board does not say how long a reset takes. */
const RESET_S = 60

type Asked = 'restart' | 'reset' | null

/** The page. @param what `password` if the user came to set one */
export function SystemPage({ what }: { what?: string }): VNode | null {
  const board = status.value
  const [asked, setAsked] = useState<Asked>(null)
  useKeys(texts.system, [{ key: 'r', what: texts.restartsBoardAsksFirst, run: () => void setAsked('restart') }])
  if (!board) return null
  return html`<h1 class="sr">System</h1>${verdict(judge(board))}${figures(boxFigures(board), 'box')}
    <div class="pair"><div class="stack">${addresses(board)}<${PasswordPart} isSet=${board.password_set} isFirst=${what === 'password'} /></div>
      <div class="stack">${about(board)}<${Acts} board=${board} ask=${setAsked} /></div></div>
    ${asked === 'restart' ? restart(board, () => setAsked(null)) : null}${asked === 'reset' ? reset(board, () => setAsked(null)) : null}`
}

function judge(board: Status): Judgement {
  const apartMs = Math.abs(aheadMs.value)
  const { temperature_c: temperature, memory } = board
  if (temperature !== null && temperature >= HOT_C)
    return {
      lit: 'warn',
      sentence: texts.boardIsHotC(fixed(temperature, 1)),
      why: texts.hotMeans(HOT_C),
    }
  if (apartMs > CLOCK_APART_MS)
    return {
      lit: 'warn',
      sentence: texts.clockIsOff(age(apartMs), aheadMs.value),
      why: board.time.synchronised === false ? texts.noTimeServer : texts.oneClockIsWrong,
    }
  if (memory.available_bytes / memory.total_bytes < LEAST_FREE)
    return {
      lit: 'warn',
      sentence: texts.onlyOfMemoryAreFree(bytesText(memory.available_bytes)),
      why: texts.ofMemory(bytesText(memory.total_bytes)),
    }
  return {
    lit: 'ok',
    sentence: texts.hasRun(board.name || board.hostname, age(Math.max(1000, daemonNow() - board.started_at))),
  }
}

const SYNC = {
  true: texts.trueMeans,
  false: texts.falseMeans,
  null: texts.nullMeans,
} as const

function boxFigures(board: Status): FigureFacts[] {
  const { memory, load, temperature_c: temperature } = board
  const [perMinute, , perQuarter] = load
  return [
    {
      name: texts.time,
      value: timeOf(daemonNow(), zone.value),
      note: `${dateOf(daemonNow(), zone.value)}, ${SYNC[`${board.time.synchronised}`]}`,
    },
    {
      name: texts.temperature,
      value: temperature === null ? UNKNOWN : fixed(temperature, 1),
      unit: '°C',
      note: temperature === null ? texts.noSensorTells : texts.ofProcessor,
      ...(temperature !== null && temperature >= HOT_C ? { lit: 'warn' as const } : {}),
    },
    {
      name: texts.memoryUsed,
      value: bytesText(memory.process_bytes),
      note: texts.memoryFree(bytesText(memory.available_bytes), bytesText(memory.total_bytes)),
    },
    { name: texts.load, value: fixed(perMinute, 2), note: texts.over15Min(fixed(perQuarter, 2)) },
  ]
}

function addresses({ addresses: known, network }: Status): VNode {
  const rows = known.map((each): [string, Child] => [
    `${each.interface}, ${each.family}`,
    html`<span class="mono">${each.address}/${each.prefix}</span>`,
  ])
  return html`<section class="panel" aria-label="Addresses"><header><h2>Addresses</h2><span class="faint">${many(known.length, 'address', 'addresses')}</span></header>
    ${known.length === 0 ? say('warn', texts.noAddress, texts.noInterfaceIsReachable) : factTable(rows)}
    <p class="foot small soft">${network.text}</p></section>`
}

function about(board: Status): VNode {
  const { last_start: start } = board
  return html`<section class="panel" aria-label="About"><header><h2>About</h2></header>${factTable([
    [texts.role, roleTitles[board.role]],
    [texts.systemHost, html`<span class="mono">${board.hostname}</span>`],
    [texts.version, board.version],
    [texts.machine, board.machine.model ?? UNKNOWN],
    [texts.started, `${sinceText(start.at, daemonNow(), zone.value)}, ${startReason(start.reason)}`],
    [texts.today, html`<a href=${linkTo('today')}>what is wrong, and what was</a>`],
    [texts.journal, html`<a href=${linkTo('journal')}>who changed what</a>`],
  ])}</section>`
}

/** Actions on the whole board, from harmless to irreversible. */
function Acts({ board, ask }: { board: Status; ask: (asked: Asked) => void }): VNode {
  const [isBusy, setBusy] = useState(false)
  const isBlinking = board.identify_until !== null && board.identify_until > daemonNow()
  async function identify(): Promise<void> {
    setBusy(true)
    try {
      await api.identify(!isBlinking)
      await lookNow()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  const row = (head: string, text: string, act: Child): VNode =>
    html`<li><div><b>${head}</b><span class="small soft">${text}</span></div>${act}</li>`
  return html`<section class="panel" aria-label="Whole board"><header><h2>Whole board</h2></header><ul class="pick bare">
    ${row(texts.identify, texts.blinksLampAndSays, html`<${Act} waits=${isBusy} pressed=${isBlinking} run=${() => void identify()}>Identify</${Act}>`)}
    ${row(texts.restart, texts.restartMeans, html`<${Act} run=${() => ask('restart')}>Restart board</${Act}>`)}
    ${row(texts.factoryReset, texts.resetMeans, html`<${Act} kind="danger" run=${() => ask('reset')}>Reset</${Act}>`)}</ul></section>`
}

function restart(board: Status, close: () => void): VNode {
  async function run(): Promise<void> {
    try {
      const { about_s: aboutS } = await api.reboot()
      awaitRestart({ what: texts.systemRestart, startedAt: board.started_at, aboutS, places: [] })
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<${Confirm} title=${texts.systemRestart2(board.name || board.hostname)} text="What it does stops until it is back; this page waits for it."
    act="Restart board" keep="Keep running" close=${close} run=${() => void run()} />`
}

function reset(board: Status, close: () => void): VNode {
  async function run(): Promise<void> {
    const answer = await api.factoryReset(board.hostname)
    awaitRestart({
      what: texts.everythingIsForgotten,
      startedAt: board.started_at,
      aboutS: answer.about_s ?? RESET_S,
      places: [],
    })
  }
  return html`<${TypeToConfirm} title=${texts.reset(board.name || board.hostname)}
    text="It forgets its name, role, password, network and every other setting, restarts, and is as it came out of the box. A fixed address goes too: it asks DHCP for one then."
    name=${board.hostname} act="Reset board" keep="Keep settings" run=${run} close=${close} />`
}
