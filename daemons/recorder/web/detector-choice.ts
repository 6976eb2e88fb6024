/** Which detector looks, and how it does: to choose, for administrators. */
import type { VNode } from 'preact'
import { sentenceOf } from '#kit/web/call.ts'
import { segments } from '#kit/web/figures.ts'
import { html } from '#kit/web/html.ts'
import { say, toast } from '#kit/web/parts.ts'
import { type DetectorKind, type DetectorView, eventsApi } from './events-api.ts'
import * as texts from './texts.ts'

export async function chooseDetector(kind: DetectorKind, again: () => Promise<void>): Promise<void> {
  try {
    await eventsApi.choose(kind)
    await again()
    toast(texts.detectorIs[kind])
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}

interface ChoiceFacts {
  view: DetectorView
  again: () => Promise<void>
}

export function DetectorChoice({ view: { health, kind, kinds }, again }: ChoiceFacts): VNode {
  const options = kinds
    .filter(({ available, kind: one }) => available || one === kind)
    .map(({ kind: one }): [string, string] => [one, texts.detectorKinds[one]])
  const fault = health.fault ?? health.decoderFault
  const judged = fault
    ? say('fault', texts.detectorSeesNothing, fault.message)
    : say(
        kind === 'off' ? 'off' : health.state === 'starting' ? 'busy' : 'ok',
        texts.detectorIs[kind],
        texts.detectorMeans[kind],
      )
  const choose = (next: string) => void chooseDetector(next as DetectorKind, again)
  return html`<div class="in">${segments({ label: 'Detector', name: 'detector', value: kind, options, choose })}</div>${judged}`
}
