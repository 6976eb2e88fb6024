/** Runs a job on the thread pool and settles its promise. */
#include "job.h"

#include <errno.h>

#include <utility>

#include "js.h"

struct Running {
  Job job;
  Failure failure;
  napi_async_work work = nullptr;
  napi_deferred deferred = nullptr;
  napi_ref keep = nullptr;
};

static void execute(napi_env env, void* data) {
  Running* running = static_cast<Running*>(data);
  running->failure = running->job.work();
}

static void complete(napi_env env, napi_status status, void* data) {
  Running* running = static_cast<Running*>(data);
  if (status == napi_cancelled) running->failure = failedCall(running->job.name, ECANCELED);
  if (running->failure.failed())
    napi_reject_deferred(env, running->deferred, errorOf(env, running->failure, running->job.path));
  else
    napi_resolve_deferred(env, running->deferred, running->job.result ? running->job.result(env) : jsUndefined(env));
  if (running->keep != nullptr) napi_delete_reference(env, running->keep);
  napi_delete_async_work(env, running->work);
  delete running;
}

napi_value startJob(napi_env env, napi_value keep, Job job) {
  Running* running = new Running;
  running->job = std::move(job);
  napi_value promise, name;
  napi_create_promise(env, &running->deferred, &promise);
  if (keep != nullptr) napi_create_reference(env, keep, 1, &running->keep);
  napi_create_string_utf8(env, running->job.name, NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, nullptr, name, execute, complete, running, &running->work);
  napi_queue_async_work(env, running->work);
  return promise;
}
