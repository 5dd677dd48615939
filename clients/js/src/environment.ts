/** What a browser tells of itself: it is online again, the page is seen again. Node tells nothing. */
export function watchEnvironment(onAwake: () => void): () => void {
  const scope = globalThis as { addEventListener?: typeof addEventListener; removeEventListener?: typeof removeEventListener };
  const page = typeof document === "undefined" ? undefined : document;
  const onVisible = () => {
    if (page?.visibilityState === "visible") onAwake();
  };
  scope.addEventListener?.("online", onAwake);
  page?.addEventListener("visibilitychange", onVisible);
  return () => {
    scope.removeEventListener?.("online", onAwake);
    page?.removeEventListener("visibilitychange", onVisible);
  };
}
