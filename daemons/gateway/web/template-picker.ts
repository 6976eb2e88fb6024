/** Devices known by heart: searched, looked at, added as one unit with all their points. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { input, refusal } from '#kit/web/field.ts'
import { typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { say } from '#kit/web/lamp.ts'
import { baudText, many } from '#kit/web/numbers.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { filterInput, matches } from '#kit/web/tools.ts'
import type { PointTemplate } from '../core/points/definition.ts'
import type { Port } from './api.ts'
import type { Shown } from './points.ts'
import { pointsApi } from './points-api.ts'
import { framingOf, nameOf } from './words.ts'

/** What the picker is told. */
export interface PickerProps {
  port: Port
  rows: readonly Shown[]
  /** The unit a scan found. */
  unitId?: string
  again: () => Promise<void>
}

/** The picker: a list to search, then the device with the unit it is added as. */
export function TemplatePicker({ port, rows, unitId, again }: PickerProps): VNode {
  const [templates, setTemplates] = useState<PointTemplate[] | string | null>(null)
  const [filter, setFilter] = useState('')
  const [chosen, setChosen] = useState<PointTemplate | null>(null)
  useEffect(() => {
    void pointsApi.templates().then(setTemplates, (thrown: unknown) => setTemplates(sentenceOf(thrown)))
  }, [])
  const close = html`<div class="acts"><a class="btn quiet icon" href=${linkTo('port', port.path, 'points')} aria-label="Close devices">${icon('close')}</a></div>`
  if (chosen)
    return html`<${Chosen} port=${port} rows=${rows} unitId=${unitId} again=${again} template=${chosen} back=${() => setChosen(null)} />`
  return html`<section class="panel" aria-label="Devices"><header><h2>${unitId ? `What is unit ${unitId}?` : 'Add a device'}</h2>${close}</header>
    <div class="filter">${filterInput({ filter, setFilter, label: 'Search devices', placeholder: 'maker, model, kind', isFirst: true })}</div>
    ${list(templates, filter, setChosen)}</section>`
}

function list(
  templates: PointTemplate[] | string | null,
  filter: string,
  choose: (template: PointTemplate) => void,
): Child {
  if (templates === null) return say('busy', 'Asking for the devices', 'The gateway has them on board.')
  if (typeof templates === 'string') return say('fault', 'The devices could not be read', templates)
  const shown = templates.filter(({ maker, model, kind, title }) =>
    matches(`${maker} ${model} ${kind} ${title}`, filter),
  )
  if (shown.length === 0)
    return say(
      'off',
      `No device matches ${filter}`,
      `${many(templates.length, 'device')} are known. Any other one is added point by point, from its register list.`,
    )
  return html`<ul class="devices">${shown.map(
    (template) => html`<li key=${template.id}><button type="button" onClick=${() => choose(template)}>
      <b>${template.maker} ${template.model}</b><span class="faint small">${template.kind} · ${many(template.points.length, 'point')}</span></button></li>`,
  )}</ul>`
}

interface ChosenProps extends PickerProps {
  template: PointTemplate
  back: () => void
}

function Chosen({ port, rows, unitId, again, template, back }: ChosenProps): VNode {
  const known = new Set(rows.map(({ name }) => name))
  const clashes = template.points.some(({ name }) => known.has(name))
  const unit = unitId ?? String(template.unitId)
  const form = useForm({ unitId: unit, prefix: clashes ? `Unit ${unit} ` : '', pollMs: '' })
  async function save(): Promise<void> {
    const { prefix, pollMs, unitId: typed } = form.values.value
    const body = {
      template: template.id,
      unitId: typedNumber(typed),
      ...(prefix === '' ? {} : { prefix }),
      ...(pollMs === '' ? {} : { pollMs: typedNumber(pollMs) }),
    }
    await pointsApi.addTemplate(port.path, body)
    await again()
    toast(`${many(template.points.length, 'point')} of unit ${typed} are read from now on.`)
    goTo('port', port.path, 'points')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel dense" onSubmit=${submit} novalidate aria-label=${template.title}>
    <header><button class="btn quiet icon" type="button" aria-label="All devices" onClick=${back}>${icon('back')}</button><h2>${template.maker} ${template.model}</h2>
      <div class="acts"><a class="btn quiet icon" href=${linkTo('port', port.path, 'points')} aria-label="Close devices">${icon('close')}</a></div></header>
    <div class="in stack"><p>${template.title}</p><p class="small soft">${sourceText(template)}</p>${lineNote(port, template)}
      <div class="form">${input({ form, name: 'unitId', label: 'Unit id', type: 'number', first: true, hint: `From the maker: ${template.unitId}` })}
        ${input({ form, name: 'pollMs', label: 'Read every', type: 'number', unit: 'ms', hint: 'Empty: as the device list says.' })}
        ${input({ form, name: 'prefix', label: 'Names begin with', kind: 'wide', hint: clashes ? 'Some names are taken already.' : 'Empty: names as below.' })}</div>
      ${refusal(form)}
      <details><summary>${many(template.points.length, 'point')}</summary>${preview(template, String(form.values.value.prefix))}</details></div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Add ${many(template.points.length, 'point')}</${Act}></footer></form>`
}

function sourceText({ source }: PointTemplate): VNode {
  const words = [source.title, source.revision].filter(Boolean).join(', ')
  return html`Source: ${words}. ${source.note}${source.url ? html`<br /><span class="mono">${source.url}</span>` : null}`
}

/** A device comes with other line settings than this line has: that is the first thing to look at. */
function lineNote(port: Port, { line }: PointTemplate): Child {
  const { line: own } = port
  if (!own || !line.baud) return null
  const parity = line.parity ?? own.parity
  const stop = line.stop_bits ?? own.stop_bits
  if (line.baud === own.baud && parity === own.parity && stop === own.stop_bits) return null
  const theirs = `${baudText(line.baud)} ${own.data_bits}${parity.charAt(0).toUpperCase()}${stop}`
  return html`<p class="small note" data-s="warn">It leaves the maker with ${theirs}; ${nameOf(port.path)} runs at ${framingOf(own)}. One of the two must change.</p>`
}

function preview({ points }: PointTemplate, prefix: string): VNode {
  return html`<table class="table tight"><thead class="sr"><tr><th>Name</th><th>Unit of measure</th><th>Register</th></tr></thead>
    <tbody>${points.map((point) => html`<tr key=${point.name}><td class="point-name">${prefix}${point.name}</td><td>${point.unit ?? ''}</td><td class="n faint">${point.fc === 3 ? 'holding' : point.fc === 4 ? 'input' : point.fc === 1 ? 'coil' : 'discrete'} ${point.address}</td></tr>`)}</tbody></table>`
}
