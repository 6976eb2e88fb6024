/** Storage: folders and how their disks are, how long footage is kept, and stretches that stay. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { type Form, input, refusal, toggle, typedNumber, useForm, type Values } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, sinceText } from '#kit/web/numbers.ts'
import { Act, say, toast, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { api, type Camera, type Disk, type KeptSettings, type Location, type Preserved, storageApi } from './api.ts'
import { whatGoes } from './deletions.ts'
import { diskTable, judgeDisks } from './disks.ts'
import { cameras } from './state.ts'
import * as texts from './texts.ts'

/** So soon, since a disk that was pulled is to be seen within 5 s. */
const LOOK_MS = 1000
const GB = 1e9
/** Where the oldest footage of each camera begins is told with any window. */
const WINDOW_MS = 60_000

interface Known {
  location: Location
  kept: KeptSettings
  preserved: Preserved[]
  /** Where the oldest footage of each camera begins. */
  oldest: Readonly<Record<string, number | undefined>>
}

/** The page. */
export function StoragePage(): VNode {
  const [known, setKnown] = useState<Known | null>(null)
  const { again, refused } = useLook(async () => {
    const [location, preserved] = await Promise.all([storageApi.location(), storageApi.preserved()])
    // The rest changes by hand alone, or slowly.
    setKnown((before) => before && { ...before, location, preserved })
    if (known) return
    const [kept, footage] = await Promise.all([storageApi.kept(), api.allFootage(daemonNow() - WINDOW_MS, daemonNow())])
    const oldest = Object.entries(footage.cameras).map(([id, { bounds }]) => [id, bounds?.start] as const)
    setKnown({ location, kept, preserved, oldest: Object.fromEntries(oldest) })
  }, LOOK_MS)
  if (known === null)
    return html`<h1 class="sr">Storage</h1><section class="panel">${firstAnswer(refused, texts.askingStorage, texts.storageNotRead)}</section>`
  const { kept, location, preserved } = known
  const judged = judgeDisks(location) ?? {
    ...{ lit: 'ok' as const, sentence: texts.disksTake(location.disks.length) },
    why: location.fromSettings ? texts.foldersOfSettings : texts.foldersOfPage,
  }
  const setKept = (next: KeptSettings) => setKnown({ ...known, kept: next })
  return html`<h1 class="sr">Storage</h1>${verdict(judged)}
    <section class="panel" aria-label="Folders"><header><h2 class="grow">Folders</h2>
      ${location.fromSettings ? null : html`<div class="acts"><${BackToSettings} again=${again} /></div>`}</header>
      ${diskTable(location.disks, { nowMs: daemonNow(), zone: zone.value }, removalOf(location, again))}
</section>
    <${NewFolder} disks=${location.disks} again=${again} />
    <${Rules} known=${known} setKept=${setKept} key=${JSON.stringify(kept)} />
    <section class="panel" aria-label="Preserved"><header><h2>Preserved</h2><span class="faint">stays, however old it is</span></header>${preservedTable(preserved, again)}</section>`
}

interface Again {
  again: () => Promise<void>
}

/** The last folder stays: footage has to go somewhere. */
function removalOf({ disks }: Location, again: () => Promise<void>): (disk: Disk) => Child {
  return ({ folder }) => {
    if (disks.length < 2) return null
    const rest = disks.filter((one) => one.folder !== folder).map((one) => ({ folder: one.folder }))
    const run = () => void doneOrSaid(() => storageApi.move(rest), again, texts.folderIsLeft(folder))
    return html`<${Asked} act="Remove" kind="quiet" label=${texts.removeFolder(folder)} title=${texts.removeFolderQuestion(folder)} text=${texts.removingFolderMeans} sure="Remove folder" keep="Keep folder" run=${run} />`
  }
}

function BackToSettings({ again }: Again): VNode {
  const run = () => void doneOrSaid(() => storageApi.move(null), again, texts.settingsCount)
  return html`<${Asked} kind="quiet" act="As the settings say" title=${texts.settingsQuestion} text=${texts.settingsMean} sure="Use those of the settings" keep="Keep these" run=${run} />`
}

function NewFolder({ disks, again }: { disks: readonly Disk[] } & Again): VNode {
  const form = useForm({ folder: '', isNew: false }, 'draft')
  async function save(): Promise<void> {
    const folder = String(form.values.value.folder).trim()
    const others = disks.filter((one) => one.folder !== folder).map((one) => ({ folder: one.folder }))
    await storageApi.move([...others, { folder, isNew: form.values.value.isNew === true }])
    await again()
    toast(texts.folderIsAdded(folder))
    form.settle({ folder: '', isNew: false })
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="New folder"><header><h2>New folder</h2></header><div class="in stack"><p class="small soft">A new file goes to the disk with most room.</p>
      ${input({ form, name: 'folder', label: texts.folder, mono: true, placeholder: texts.folderExample, hint: texts.folderHint })}
      ${toggle({ form, name: 'isNew', label: texts.isNewFolder, hint: texts.isNewFolderHint })}${refusal(form)}</div>
    <footer class="save"><${Act} type="submit" waits=${form.isBusy.value || !form.hasChanges()}>Add folder</${Act}></footer></form>`
}

// How long footage is kept.

/** A field is in the unit of people, the setting in bytes. */
const inGb = (bytes: number) => String(Number((bytes / GB).toFixed(3)))

function bytesTyped(text: Values[string] | undefined): number | string {
  const typed = typedNumber(text)
  return typeof typed === 'number' ? Math.round(typed * GB) : typed
}

const fieldOf = (id: string) => `cameras.${id}`

/** What is typed; null of a camera: as all others. */
function typedRules(values: Values, known: readonly Camera[]) {
  const own = known.map(({ id }) => {
    const text = String(values[fieldOf(id)] ?? '').trim()
    return [id, text === '' ? null : typedNumber(text)] as const
  })
  return {
    keepDays: typedNumber(values.keepDays),
    keepBytes: bytesTyped(values.keepBytes),
    freeBytes: bytesTyped(values.freeBytes),
    cameras: Object.fromEntries(own),
  }
}

/** What the recorder takes at least: less is refused, and deletes nothing. */
const LEAST = { days: 1, keepBytes: 1_000_000, freeBytes: 0 } as const

/** As far as it can be reckoned with: what will be refused is as it was. */
function rulesAfter(typed: ReturnType<typeof typedRules>, before: KeptSettings): KeptSettings {
  const number = (value: number | string, least: number, was: number) =>
    typeof value === 'number' && value >= least ? value : was
  const days = { ...before.cameras }
  for (const [id, value] of Object.entries(typed.cameras))
    if (value === null) delete days[id]
    else days[id] = number(value, LEAST.days, days[id] ?? before.keepDays)
  return {
    keepDays: number(typed.keepDays, LEAST.days, before.keepDays),
    keepBytes: number(typed.keepBytes, LEAST.keepBytes, before.keepBytes),
    freeBytes: number(typed.freeBytes, LEAST.freeBytes, before.freeBytes),
    cameras: days,
  }
}

function Rules({ known, setKept }: { known: Known; setKept: (kept: KeptSettings) => void }): VNode {
  const { kept, location, oldest } = known
  const all = (cameras.value ?? []).toSorted((a, b) => a.name.localeCompare(b.name))
  const [isAsked, setAsked] = useState(false)
  const form = useForm(
    {
      ...{ keepDays: String(kept.keepDays), keepBytes: inGb(kept.keepBytes), freeBytes: inGb(kept.freeBytes) },
      ...Object.fromEntries(all.map(({ id }) => [fieldOf(id), String(kept.cameras[id] ?? '')])),
    },
    'edit',
  )
  const typed = typedRules(form.values.value, all)
  const goes = form.hasChanges()
    ? whatGoes({
        ...{ before: kept, after: rulesAfter(typed, kept), disks: location.disks },
        cameras: all.map(({ id, name }) => ({ id, name, oldestAt: oldest[id] })),
        ...{ nowMs: daemonNow(), zone: zone.value },
      })
    : []
  async function save(): Promise<void> {
    const next = await storageApi.keep(typed)
    form.settle()
    toast(texts.rulesAreSaved)
    setKept(next)
  }
  function submit(event: Event): void {
    event.preventDefault()
    if (goes.length > 0) setAsked(true)
    else void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="How long footage is kept"><header><h2>How long footage is kept</h2></header>
    <div class="in stack">
      ${input({ form, name: 'keepDays', label: texts.keepDays, type: 'number', unit: texts.days, hint: texts.keepDaysHint })}
      ${input({ form, name: 'keepBytes', label: texts.keepBytes, type: 'number', unit: 'GB', hint: texts.keepBytesHint })}
      ${input({ form, name: 'freeBytes', label: texts.freeBytes, type: 'number', unit: 'GB', hint: texts.freeBytesHint })}
      ${perCamera(form, all)}
      <p class="small soft">Whether the sound of a camera is recorded is set at <a href=${linkTo('cameras')}>each camera</a>.</p>
      <div role="status" style=${{ overflowWrap: 'anywhere' }}>${goes.length > 0 ? say('warn', texts.thisDeletes, goes.join(' ')) : null}</div>${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value || !form.hasChanges()}>${texts.save}</${Act}></footer>
    ${isAsked ? html`<${Confirm} title=${texts.deleteQuestion} text=${`${goes.join(' ')} ${texts.goneForGood}`} act="Save and delete" keep="Keep footage" run=${() => void form.submit(save)} close=${() => setAsked(false)} />` : null}</form>`
}

function perCamera(form: Form, all: readonly Camera[]): Child {
  if (all.length === 0) return null
  return html`<fieldset class="stack" style=${{ minWidth: 0 }}><legend class="small">${texts.daysOfOne}</legend>${all.map(
    ({ id, name }) =>
      input({
        ...{ form, name: fieldOf(id), label: name, type: 'number', unit: texts.days },
        placeholder: String(form.values.value.keepDays ?? ''),
      }),
  )}</fieldset>`
}

// Stretches that stay.

function preservedTable(preserved: readonly Preserved[], again: () => Promise<void>): Child {
  if (preserved.length === 0) return say('off', texts.nothingPreserved, texts.howToPreserve)
  const now = daemonNow()
  const nameOf = (id: string) => cameras.value?.find((one) => one.id === id)?.name
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Preserved"><table class="table days"><thead><tr><th>Camera</th><th>From</th><th>Length</th><th>Why, by whom</th><th>Act</th></tr></thead>
    <tbody>${preserved.map((one) => {
      const from = sinceText(one.from, now, zone.value)
      const name = nameOf(one.camera)
      const run = () => void doneOrSaid(() => storageApi.release(one.id), again, texts.isReleased)
      return html`<tr key=${one.id}><td>${name ?? texts.removedCamera(one.camera)}</td>
        <td>${name === undefined ? from : html`<a href=${linkTo('playback', one.camera, String(one.from))}>${from}</a>`}</td><td>${age(one.to - one.from)}</td>
        <td>${one.note ?? ''} <span class="faint">${one.by}</span></td>
        <td class="n"><${Asked} act="Release" kind="quiet" label=${texts.releaseNamed(name ?? one.camera, from)} title=${texts.releaseQuestion(name ?? one.camera, from)} text=${texts.releasingMeans} sure="Release stretch" keep="Keep stretch" run=${run} /></td></tr>`
    })}</tbody></table></div>`
}
