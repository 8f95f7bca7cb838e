"""The texts of the page in other languages. A text that has no translation stays in English."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

#: Takes an English text with `{name}` for values, and the values.
Translate = Callable[..., str]

CHINESE: Mapping[str, str] = {
    "Search your documents": "搜索你的文档",
    "Search": "搜索",
    "Skip to the content": "跳到正文",
    "Home": "首页",
    "Upkeep": "维护",
    "Help": "帮助",
    "Sign out": "退出登录",
    "Sign in": "登录",
    "Key": "密钥",
    "This server needs a key. Make one with:": "此服务器需要密钥。用下面的命令创建：",
    "The key is not known.": "密钥无效。",
    "Words": "词语",
    "Meaning": "语义",
    "Both": "两者",
    "Search by": "搜索方式",
    "Relevance": "相关度",
    "Date": "日期",
    "Sort by": "排序",
    "Filters": "筛选",
    "Remove the filter {filter}": "移除筛选 {filter}",
    "Collection": "集合",
    "Tag": "标签",
    "Author": "作者",
    "Year": "年份",
    "Format": "格式",
    "Results": "结果",
    "{n} result": "{n} 条结果",
    "{n} results": "{n} 条结果",
    "The first {n} results": "前 {n} 条结果",
    "No results": "没有结果",
    "Show more": "显示更多",
    "Show scores": "显示得分",
    "Hide scores": "隐藏得分",
    "by words": "按词语",
    "by meaning": "按语义",
    "by words and meaning": "按词语和语义",
    "reranked": "已重排",
    "Searching by meaning": "正在按语义搜索",
    "A better order is ready": "更好的排序已就绪",
    "Is a document missing?": "缺少某个文档？",
    "Find out why": "查看原因",
    "Path, title or file": "路径、标题或文件",
    "Nothing matches all of it. Check the spelling, use fewer words, or remove a filter.": (
        "没有匹配的文档。请检查拼写、减少词语或移除筛选。"
    ),
    "Search by meaning": "按语义搜索",
    "Recent searches": "最近的搜索",
    "Remember searches in this browser": "在此浏览器中记住搜索",
    "Forget them": "清除",
    "Recently changed": "最近修改",
    "Collections": "集合",
    "Tags": "标签",
    "{n} document": "{n} 篇文档",
    "{n} documents": "{n} 篇文档",
    "Nothing is indexed yet": "还没有索引任何内容",
    "Add a folder of Markdown, and search it here.": "添加一个 Markdown 文件夹，然后在这里搜索。",
    "Add a folder": "添加文件夹",
    "Or in a terminal:": "或者在终端中：",
    "Nobody has added documents that you may see.": "没有你可以查看的文档。",
    "Outline": "大纲",
    "Properties": "属性",
    "Linked from": "反向链接",
    "Links": "链接",
    "{n} more": "还有 {n} 个",
    "page {n}": "第 {n} 页",
    "slide {n}": "第 {n} 张幻灯片",
    "sheet {n}": "第 {n} 张表",
    "chapter {n}": "第 {n} 章",
    "cell {n}": "第 {n} 个单元格",
    "message {n}": "第 {n} 条消息",
    "pages": "页",
    "slides": "幻灯片",
    "sheets": "工作表",
    "chapters": "章",
    "cells": "单元格",
    "messages": "消息",
    "As of": "截至",
    "Up to date": "已是最新",
    "Changes of files are noticed at once": "文件更改会立即被发现",
    "Changes of files are looked for regularly": "定期检查文件更改",
    "Changes of files are not watched": "未监视文件更改",
    "Rendered": "渲染视图",
    "Source": "源文本",
    "Open in editor": "在编辑器中打开",
    "Original file": "原始文件",
    "Copy": "复制",
    "Address": "地址",
    "Path": "路径",
    "Link": "链接",
    "Copied": "已复制",
    "Previous result": "上一条结果",
    "Next result": "下一条结果",
    "Result {n} of {of}": "第 {n} 条，共 {of} 条",
    "Back to the results": "返回结果",
    "{n} image on other servers was not loaded.": "未加载其他服务器上的 {n} 张图片。",
    "{n} images on other servers were not loaded.": "未加载其他服务器上的 {n} 张图片。",
    "Load them once": "本次加载",
    "This document is large: it is shown as text.": "文档较大，以文本显示。",
    "Next part": "下一部分",
    "Previous part": "上一部分",
    "Next": "下一页",
    "Previous": "上一页",
    "done": "已完成",
    "open": "未完成",
    "Why": "原因",
    "Why is a document a result, or not?": "某个文档为什么是（或不是）结果？",
    "Query": "查询",
    "Document": "文档",
    "Explain": "解释",
    "What to do": "怎么办",
    "Term": "词",
    "In this document": "在本文档中",
    "In {n} documents": "在 {n} 篇文档中",
    "Ranks": "排名",
    "{rank} of {total}": "第 {rank} / {total}",
    "not among {total}": "不在 {total} 条之中",
    "yes": "有",
    "no": "无",
    "excluded": "排除",
    "longer words": "更长的词",
    "documents": "文档数",
    "It is a result": "它在结果中",
    "It is not a result": "它不在结果中",
    "Something went wrong": "出错了",
    "Not found": "未找到",
    "Similar": "相近",
    "Name": "名称",
    "Folder": "文件夹",
    "Pattern": "匹配模式",
    "Documents": "文档",
    "Last scan": "上次扫描",
    "never": "从未",
    "Add": "添加",
    "Rename": "重命名",
    "Remove": "移除",
    "New name": "新名称",
    "Its files stay on the disk.": "磁盘上的文件会保留。",
    "Change": "更改",
    "Scan for changes": "扫描更改",
    "Make vectors": "生成向量",
    "Stop": "停止",
    "Descriptions": "描述",
    "Description": "描述",
    "Place": "位置",
    "A collection or a folder in one, such as qmd://notes/work; / is everything.": (
        "集合或其中的文件夹，例如 qmd://notes/work；/ 表示全部。"
    ),
    "Descriptions are shown with every document below the place.": "描述会显示在该位置下的每篇文档旁。",
    "Models": "模型",
    "Role": "用途",
    "Model": "模型",
    "State": "状态",
    "installed": "已安装",
    "not installed": "未安装",
    "Check": "检查",
    "Doctor": "诊断",
    "Look for problems": "查找问题",
    "Everything is in order.": "一切正常。",
    "Keys": "密钥",
    "May see": "可查看",
    "all collections": "所有集合",
    "read only": "只读",
    "Read only": "只读",
    "Read and change": "读取和更改",
    "Created": "创建于",
    "Make a key": "创建密钥",
    "The new key, shown only once:": "新密钥，仅显示一次：",
    "Collections that it may see; none means all": "可查看的集合；不选表示全部",
    "Every request needs a key as soon as there is one.": "只要存在密钥，所有请求都需要密钥。",
    "Scanning": "正在扫描",
    "Embedding": "正在生成向量",
    "Waiting for other writes": "等待其他写入",
    "Done": "完成",
    "Stopped": "已停止",
    "Failed": "失败",
    "{done} of {total}": "{done} / {total}",
    "{n} text has no vector yet": "{n} 篇文本还没有向量",
    "{n} texts have no vectors yet": "{n} 篇文本还没有向量",
    "All texts have vectors": "所有文本都有向量",
    "{added} new, {updated} changed, {removed} removed": "新增 {added}，更改 {updated}，移除 {removed}",
    "{n} embedded": "已生成 {n} 个",
    "Keyboard": "键盘",
    "to the search box": "到搜索框",
    "choose a result": "选择结果",
    "open it": "打开",
    "open it in a new tab": "在新标签页中打开",
    "back to the box, then empty it": "回到搜索框，再清空",
    "next and previous result, in a document": "在文档中：下一条、上一条结果",
    "next and previous match, in a document": "在文档中：下一处、上一处匹配",
    "this help": "本帮助",
    "Close": "关闭",
    "Filters to type": "可输入的筛选",
    "documents with a tag, or one below it": "带有该标签或其下级标签的文档",
    "the beginning of the path, or a glob": "路径开头或通配符",
    "dates": "日期",
    "a field of the front matter": "前置元数据字段",
    "not": "排除",
    "as a phrase": "作为短语",
    "Clear": "清空",
    "Vector index not found. Run 'qmd embed' first to create embeddings.": (
        "还没有向量。请先在“维护”中生成向量。"
    ),
}

#: Messages of the engine, which come with their values in them.
ENGINE: Mapping[str, str] = {
    "nothing here seems to answer this": "这里似乎没有相关的内容",
    "the query has no word to look for": "查询中没有可搜索的词",
    "no words: the documents that pass the filters, newest first": "按时间从新到旧列出符合筛选的文档",
    "{n} document(s) have no vectors yet: run 'qmd embed'": "{n} 篇文档还没有向量：请在“维护”中生成",
    "not ready within {n} s": "在 {n} 秒内没有完成",
    "counted among the {n} candidates, not all documents": "在 {n} 个候选文档中统计，并非全部文档",
    "documents for this query: {counts}": "针对此查询的文档：{counts}",
    "No documents: {counts}. Did you mean {value}?": "没有文档：{counts}。你是否要找 {value}？",
    "No documents: {counts}.": "没有文档：{counts}。",
    "Document not found: {name}": "未找到文档：{name}",
    "{names}: the text stays on this machine (models: {policy})": (
        "{names}：文本不离开本机 (models: {policy})"
    ),
}
#: A value in one of these that `re.escape` has escaped.
_VALUE = re.compile(r"\\\{(\w+)\\\}")


def english(text: str, **values: Any) -> str:
    """Return an English text with its values."""
    return text.format(**values) if values else text


def chinese(text: str, **values: Any) -> str:
    """Return a text in Chinese with its values; in English if there is no translation."""
    if text in CHINESE:
        return english(CHINESE[text], **values)
    for pattern, translation in () if values else _engine_messages():
        if found := pattern.fullmatch(text):
            return translation.format(**found.groupdict())
    return english(text, **values)


@cache
def _engine_messages() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(_VALUE.sub(r"(?P<\1>.{1,500}?)", re.escape(text)), re.DOTALL), translation)
        for text, translation in ENGINE.items()
    ]


LANGUAGES: Mapping[str, Translate] = {"en": english, "zh": chinese}


def choose(accepted: str) -> str:
    """Return the language for a header `Accept-Language`: the one of `LANGUAGES` that the user prefers."""
    ranked: list[tuple[float, str]] = []
    for part in accepted[:1_000].split(","):
        name, _, parameters = part.strip().partition(";")
        language = name.strip().lower().partition("-")[0]
        try:
            weight = float(parameters.partition("q=")[2] or 1)
        except ValueError:
            weight = 0.0
        if language in LANGUAGES and weight > 0:
            ranked.append((weight, language))
    # Of equal weights the first counts.
    return max(ranked, key=lambda entry: entry[0], default=(1.0, "en"))[1]
