/** What a plan itself is: its name and image, of a new one too, and its end. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { isLost } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { bytesText } from '#kit/web/numbers.ts'
import { Act, lamp, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { planApi, type SitePlan, type SitePlans } from './plan-api.ts'
import * as texts from './texts.ts'

interface UploadFacts {
  limits: SitePlans['limits']
  /** Asks for the plans anew. */
  again: () => Promise<void>
}

/** A button that asks for a file. Its faults are said below it. */
function ImageField({
  act,
  limits,
  take,
}: {
  act: string
  limits: SitePlans['limits']
  take: (file: File) => Promise<void>
}): VNode {
  const field = useRef<HTMLInputElement>(null)
  const [isSending, setSending] = useState(false)
  const [refused, setRefused] = useState<string | null>(null)
  async function picked(event: Event): Promise<void> {
    const element = event.target as HTMLInputElement
    const file = element.files?.[0]
    element.value = ''
    if (!file) return
    if (file.size > limits.bytes) return setRefused(texts.imageTooLong(bytesText(file.size), bytesText(limits.bytes)))
    setRefused(null)
    setSending(true)
    try {
      await take(file)
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
    setSending(false)
  }
  const hint = texts.planImageHint(bytesText(limits.bytes), limits.pixels)
  return html`<div class="field" data-s=${refused ? 'fault' : undefined}><span class="label">${texts.planImage}</span>
    <button class="btn" type="button" disabled=${isSending || isLost.value} onClick=${() => field.current?.click()}>${isSending ? texts.sending : act}</button>
    <input ref=${field} class="sr" type="file" tabindex="-1" aria-label=${texts.planImage} accept="image/png,image/jpeg" onChange=${picked} />
    ${refused ? html`<p class="err" role="alert">${lamp('fault')}<span>${refused}</span></p>` : html`<p>${hint}</p>`}</div>`
}

/** Adds a plan. */
export function NewPlan({ limits, again }: UploadFacts): VNode {
  const form = useForm({ name: '' }, 'draft')
  const [image, setImage] = useState<File | null>(null)
  async function save(): Promise<void> {
    if (!image) throw new Error(texts.imageFirst)
    const added = await planApi.add(String(form.values.value.name).trim(), image)
    await again()
    toast(texts.planIsAdded(added.name))
    form.settle()
    goTo('plan', added.id)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${texts.newPlan}>
    <header><h2>${texts.newPlan}</h2></header>
    <div class="in stack">${input({ form, name: 'name', label: texts.planName, placeholder: texts.planExample })}
      <${ImageField} act=${image ? image.name : texts.chooseImage} limits=${limits} take=${async (file: File) => setImage(file)} />
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Add plan</${Act}></footer></form>`
}

interface ItselfFacts extends UploadFacts {
  plan: SitePlan
}

/** Name, image, and the end of a plan. */
export function PlanItself({ plan, limits, again }: ItselfFacts): VNode {
  const form = useForm({ name: plan.name }, 'edit')
  const [isAsked, setAsked] = useState(false)
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(async () => {
      const { name } = await planApi.rename(plan.id, String(form.values.value.name).trim())
      form.settle({ name })
      await again()
      toast(texts.planIsRenamed(name))
    })
  }
  async function remove(): Promise<void> {
    try {
      await planApi.remove(plan.id)
      await again()
      toast(texts.planIsRemoved(plan.name))
      goTo('plan')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${plan.name}><header><h2>${texts.plan}</h2><div class="acts"><a class="btn" href=${linkTo('plan', 'new')}>${texts.newPlan}</a></div></header>
    <div class="in stack">${input({ form, name: 'name', label: texts.planName })}<${OtherImage} plan=${plan} limits=${limits} again=${again} />${refusal(form)}</div>
    <footer class="save"><${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}><${Act} type="submit" waits=${form.isBusy.value || !form.hasChanges()}>Save</${Act}></footer>
    ${isAsked ? html`<${Confirm} title=${texts.removePlanQuestion(plan.name)} text=${texts.removingPlanMeans} act=${texts.removePlan} keep=${texts.keepPlan} run=${() => void remove()} close=${() => setAsked(false)} />` : null}</form>`
}

/** Replaces the image of a plan. */
function OtherImage({ plan, limits, again }: ItselfFacts): VNode {
  async function take(file: File): Promise<void> {
    await planApi.replaceImage(plan.id, file)
    await again()
    toast(texts.imageIsReplaced)
  }
  return html`<${ImageField} act=${texts.replaceImage} limits=${limits} take=${take} />`
}
