/** A sample to a target, and what came back. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { api } from './api.ts'
import type { Hook } from './hook-state.ts'

/** Sends a sample and says what came back. */
export async function sendSample(hook: Hook): Promise<string> {
  try {
    const { delivered, message, tookMs } = await api.testWebhook(hook.port, hook.id)
    const took = `${Math.round(tookMs)}\u202fms`
    return `${delivered ? 'The sample arrived' : 'The sample did not arrive'} after ${took}: ${message}.`.replace(
      /\.\.$/,
      '.',
    )
  } catch (thrown) {
    return sentenceOf(thrown)
  }
}

/** The button that sends a sample. */
export function Test({ hook, tell }: { hook: Hook; tell: (sentence: string) => void }): VNode {
  const [isBusy, setBusy] = useState(false)
  async function run(): Promise<void> {
    setBusy(true)
    tell('Waiting for the target, ten seconds at most.')
    tell(await sendSample(hook))
    setBusy(false)
  }
  return html`<${Act} waits=${isBusy} run=${() => void run()}>Test</${Act}>`
}
