/** The registers a slave serves to the master on its line: read, and set by hand. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { choice, input, refusal } from '#kit/web/field.ts'
import { type Form, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { say } from '#kit/web/lamp.ts'
import { useLook } from '#kit/web/look.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { sinceText, UNKNOWN } from '#kit/web/numbers.ts'
import { toast } from '#kit/web/toast.ts'
import type { RegisterTable, RegisterView } from '../core/modbus/slave-registers.ts'
import type { Port } from './api.ts'
import { busApi } from './bus-api.ts'
import { isAdmin, LOOK_MS } from './state.ts'
import { listOf } from './typed.ts'

/** What the tables are called. */
export const tableNames: readonly (readonly [RegisterTable, string])[] = [
  ['holding_registers', 'Holding registers'],
  ['input_registers', 'Input registers'],
  ['coils', 'Coils'],
  ['discrete_inputs', 'Discrete inputs'],
]

interface Block {
  table: RegisterTable
  address: number
  quantity: number
}

/** Registers shown at once. */
const MOST = 16

/** The panel. */
export function RegistersPanel({ port }: { port: Port }): VNode {
  const units = listed(port.settings?.slave_units)
  const blocks = (Array.isArray(port.settings?.slave_blocks) ? port.settings.slave_blocks : []) as Block[]
  const first = blocks[0]
  const form = useForm({
    unitId: units[0] ?? '1',
    table: first?.table ?? 'holding_registers',
    address: String(first?.address ?? 0),
    values: '',
  })
  const [known, setKnown] = useState<RegisterView | null>(null)
  const range = rangeOf(form, blocks)
  const { refused, again } = useLook(
    async () => {
      if (blocks.length > 0) setKnown(await busApi.registers(port.path, range))
    },
    LOOK_MS,
    JSON.stringify(range),
  )
  const choices = html`${choice({ form, name: 'unitId', label: 'Unit', options: units.map((unit) => [unit, unit] as const) })}
    ${choice({ form, name: 'table', label: 'Table', kind: 'more', options: tableNames })}${input({ form, name: 'address', label: 'From', type: 'number' })}`
  return html`<section class="panel" aria-label="Registers"><header><h2>Registers</h2><span class="faint">served to the master</span></header>
    ${
      blocks.length === 0
        ? say('off', 'No registers', 'Say in the settings which ones this line serves.')
        : html`<div class="in console">${choices}</div>
      ${refused === null ? values(known) : say('off', 'Not served', refused)}
      ${isAdmin.value ? html`<${Write} port=${port} form=${form} again=${again} />` : null}`
    }</section>`
}

function listed(units: unknown): string[] {
  return Array.isArray(units) ? units.map(String) : []
}

/** What is looked at: from the typed address to the end of its block. */
function rangeOf(
  form: Form,
  blocks: readonly Block[],
): { unitId: number | string; table: string; address: number | string; quantity: number } {
  const { unitId, table, address } = form.values.value
  const from = typedNumber(address)
  const block = blocks.find(
    (each) =>
      each.table === table && typeof from === 'number' && from >= each.address && from < each.address + each.quantity,
  )
  const left = block && typeof from === 'number' ? block.address + block.quantity - from : 1
  return { unitId: typedNumber(unitId), table: String(table), address: from, quantity: Math.min(MOST, left) }
}

function values(known: RegisterView | null): Child {
  if (known === null) return null
  const written =
    known.writtenAt === null
      ? 'Nothing was written here yet.'
      : `Last written at ${sinceText(known.writtenAt, daemonNow(), zone.value)}.`
  return html`<div class="in"><ul class="values">${known.values.map((value, at) => {
    const hex = value !== null && value > 1 ? value.toString(16).toUpperCase().padStart(4, '0') : ''
    return html`<li key=${at}><span class="faint">${known.address + at}</span><b>${value ?? UNKNOWN}</b><span class="mono faint">${hex}</span></li>`
  })}</ul><p class="small faint">${written}${known.values.includes(null) ? ` ${UNKNOWN}: refused until it is written.` : ''}</p></div>`
}

function Write({ port, form, again }: { port: Port; form: Form; again: () => Promise<void> }): VNode {
  async function save(): Promise<void> {
    const { unitId, table, address, values: typed } = form.values.value
    const list = listOf(String(typed))
    await busApi.writeRegisters(port.path, {
      unitId: typedNumber(unitId),
      table,
      address: typedNumber(address),
      values: list,
    })
    form.set('values', '')
    await again()
    toast(`${list.length === 1 ? 'One value is' : `${list.length} values are`} set from ${address} on.`)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form onSubmit=${submit} novalidate aria-label="Set values"><footer class="in stack"><div class="console">${input({ form, name: 'values', label: 'Set from there', kind: 'more', placeholder: '215, 0x10' })}
    <${Act} type="submit" waits=${form.isBusy.value}>Set</${Act}></div>${refusal(form)}</footer></form>`
}
