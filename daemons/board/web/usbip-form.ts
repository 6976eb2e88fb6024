/** Whether the device is shared, and with whom. Applied at once and saved. */
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { choice, input, refusal, toggle } from '#kit/web/field.ts'
import { useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type UsbipState } from './api.ts'
import { deviceOptions } from './usbip-words.ts'

function valuesOf({ enabled, allow, choice }: UsbipState): { enabled: boolean; allow: string; device: string } {
  return { enabled, allow, device: choice }
}

/** The form. */
export function UsbipForm({ state, again }: { state: UsbipState; again: () => Promise<void> }): VNode {
  const form = useForm(valuesOf(state), 'edit')
  const isChanged = form.isChanged('enabled') || form.isChanged('allow') || form.isChanged('device')
  // What was changed elsewhere shows here too, unless somebody is typing.
  useEffect(() => {
    if (!isChanged) form.settle(valuesOf(state))
  }, [state.enabled, state.allow, state.choice])

  async function save(): Promise<void> {
    const { enabled, allow, device } = form.values.value
    form.settle(
      valuesOf(await api.setUsbip({ enabled: enabled === true, allow: String(allow), device: String(device) })),
    )
    await again()
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (await form.submit(save))
      toast(form.values.value.enabled === true ? 'The device is shared.' : 'The device is not shared.')
  }
  return html`<form class="panel" aria-label="Sharing" onSubmit=${(event: Event) => void submit(event)} novalidate><header><h2>Sharing</h2></header>
    <div class="in stack">${toggle({ form, name: 'enabled', label: 'Share the device', hint: state.supported ? undefined : 'Kept for the day this system can.' })}
      ${choice({ form, name: 'device', label: 'Device', options: deviceOptions(state), kind: 'wide' })}
      ${input({ form, name: 'allow', label: 'Allowed addresses', mono: true, kind: 'wide', placeholder: '10.20.4.0/24, fd00::7', hint: 'Addresses and networks, by commas. Empty: every address.' })}${refusal(form)}</div>
    <footer class="save"><p class="small soft grow">${form.isChanged('enabled') && form.values.value.enabled !== true && state.attached ? `${state.attached.address} loses the device at once.` : 'Applied at once and saved.'}</p>
      <${Act} type="submit" waits=${form.isBusy.value || !isChanged}>Save</${Act}></footer></form>`
}
