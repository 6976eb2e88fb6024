/** The webhooks of all lines: what the page knows of them, and what it says of their delivery. */
import { signal } from '@preact/signals'
import type { Judgement, Lit } from '#kit/web/lamp.ts'
import { age, count, many, sinceText } from '#kit/web/numbers.ts'
import { api, type Webhook } from './api.ts'
import { ports } from './state.ts'
import type { When } from './verdicts.ts'

/** A webhook and the line it belongs to. */
export interface Hook extends Webhook {
  port: string
}

/** Null until they were asked for. */
export const hooks = signal<Hook[] | null>(null)

/** Asks every line that has some. */
export async function lookAtHooks(): Promise<void> {
  const known = ports.value
  if (known === null) return
  const lists = await Promise.all(
    known
      .filter((port) => port.webhooks > 0)
      .map(async ({ path }) => (await api.webhooks(path)).map((hook) => ({ ...hook, port: path }))),
  )
  hooks.value = lists.flat().sort((a, b) => rank(a) - rank(b) || a.url.localeCompare(b.url))
}

function rank(hook: Hook): number {
  return ['fault', 'warn', 'ok', 'busy', 'off'].indexOf(deliveryOf(hook).lit)
}

/** Whether the last thing that happened to a target was a failure. */
function isFailing({ lastError, lastDeliveredAt }: Webhook): boolean {
  return lastError !== null && lastError.at >= (lastDeliveredAt ?? 0)
}

/** Lamp and words of a target: what it answered last, and when. */
export function deliveryOf(hook: Webhook, when?: When): { lit: Lit; words: string } {
  if (!hook.enabled) return { lit: 'off', words: 'switched off' }
  if (isFailing(hook)) {
    const since = when && hook.lastError ? ` at ${sinceText(hook.lastError.at, when.nowMs, when.zone)}` : ''
    const paused = hook.pausedUntil === null ? '' : ', paused'
    return { lit: 'fault', words: `${hook.lastError?.message ?? ''}${since}${paused}` }
  }
  if (hook.lastDeliveredAt === null) return { lit: 'busy', words: 'nothing sent yet' }
  const ago = when ? age(Math.max(0, when.nowMs - hook.lastDeliveredAt), 1) : ''
  return { lit: hook.counters.dropped > 0 ? 'warn' : 'ok', words: `last ${ago} ago` }
}

/** The verdict over all targets. */
export function judgeHooks(all: readonly Hook[]): Judgement {
  const failing = all.filter((hook) => deliveryOf(hook).lit === 'fault')
  const taken = all.reduce((sum, hook) => sum + hook.counters.delivered, 0)
  const dropped = all.reduce((sum, hook) => sum + hook.counters.dropped, 0)
  const lost = dropped > 0 ? `${many(dropped, 'event')} dropped.` : ''
  if (all.length === 0) return { lit: 'off', sentence: 'No webhooks.' }
  if (failing.length === 0) {
    const sentence =
      taken === 0
        ? 'Nothing was sent yet.'
        : `${all.length === 1 ? 'The target takes' : 'All targets take'} what is sent.`
    return {
      lit: dropped > 0 ? 'warn' : 'ok',
      sentence,
      why: `${taken > 0 ? `${many(taken, 'event')} delivered.` : ''} ${lost}`.trim(),
    }
  }
  const sentence = `${count(failing.length)} of ${many(all.length, 'target')} ${failing.length === 1 ? 'takes' : 'take'} nothing.`
  const others = all.length > failing.length ? `${many(taken, 'event')} delivered in all. ` : ''
  return { lit: failing.length === all.length ? 'fault' : 'warn', sentence, why: `${others}${lost}`.trim() }
}

/** Host and path of a target, which is what tells one from another. */
export function targetOf(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/\/$/, '')
}
