/** Uploads a file with XMLHttpRequest, because `fetch` does not report the progress of an upload. */
import { t } from "../strings";
import { address, Failure, SELF } from "./api";

export function upload<T>(path: string, file: File, onProgress: (percent: number) => void): Promise<T> {
  const form = new FormData();
  form.set("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address(path));
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("holdfast-agent", SELF);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onProgress((100 * event.loaded) / event.total);
    request.onerror = () => reject(new Failure(0, "unreachable", t.trouble.unreachable, t.trouble.unreachableFix));
    request.onload = () => {
      if (request.status < 300) return resolve(request.response as T);
      const error = (request.response as { error?: { code: string; message: string; fix: string | null } } | null)?.error;
      reject(error ? new Failure(request.status, error.code, error.message, error.fix) : new Failure(request.status, "http", t.trouble.status(request.status), t.trouble.statusFix));
    };
    request.send(form);
  });
}
