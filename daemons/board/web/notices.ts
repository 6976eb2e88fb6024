/** What stands over every page of a board: a restart that is waited for, an address to confirm, no password, who blinks. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { type Child, html } from '#kit/web/html.ts'
import { type Lit, lamp } from '#kit/web/lamp.ts'
import { daemonNow, now } from '#kit/web/now.ts'
import { age } from '#kit/web/numbers.ts'
import { linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type Status } from './api.ts'
import { isLate, restarting, waitText } from './restart.ts'
import { lookNow } from './state.ts'

/** In place of the banner of lost contact while the board restarts because it was told to; undefined while it does not. */
export function restartBanner(): VNode | undefined {
  const waited = restarting.value
  if (!waited) return undefined
  const isOver = isLate(waited, now.value)
  return banner(
    isOver ? 'warn' : 'busy',
    'Restart',
    html`<b role="alert">${waited.what}</b> ${waitText(waited, now.value)}`,
  )
}

/** Everything that is to be known on every page. */
export function notices(status: Status): Child {
  return [addressNotice(status), identifyNotice(status), openNotice(status)]
}

function banner(lit: Lit, label: string, words: Child, act?: Child): VNode {
  return html`<section class="banner" data-s=${lit} aria-label=${label} key=${label}>${lamp(lit)}<span>${words}</span>${act}</section>`
}

/** A new address has two minutes to be reached; then the board gives it back. */
function addressNotice({ network }: Status): Child {
  if (network.state === 'fallen_back' || network.state === 'refused')
    return banner('warn', 'Address', network.text, html`<a class="btn" href=${linkTo('settings')}>Settings</a>`)
  if (network.state !== 'unconfirmed') return null
  const leftMs = (network.confirm_until ?? 0) - daemonNow()
  const left = leftMs > 0 ? `${age(Math.max(1000, leftMs))} left` : 'the time is over'
  return banner('warn', 'Address', html`<b role="alert">New address</b><b>, ${left}.</b> ${network.text}`)
}

function identifyNotice({ identify_until: until }: Status): Child {
  if (until === null || until <= daemonNow()) return null
  const words = html`<b role="alert">This is the board that blinks.</b> It stops by itself in ${age(until - daemonNow())}.`
  return banner('busy', 'Identify', words, html`<${StopBlinking} />`)
}

function StopBlinking(): VNode {
  const [isBusy, setBusy] = useState(false)
  async function stop(): Promise<void> {
    setBusy(true)
    try {
      await api.identify(false)
      await lookNow()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  return html`<${Act} waits=${isBusy} run=${() => void stop()}>Stop</${Act}>`
}

/** Left open, a board says so for good. */
function openNotice({ password_set: hasPassword }: Status): Child {
  if (hasPassword) return null
  const words = html`<b>No password.</b> Everybody on this network can change this board.`
  return banner('warn', 'Password', words, html`<a class="btn" href=${linkTo('system', 'password')}>Set one</a>`)
}
